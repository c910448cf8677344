#include "catalog/model_words.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/numeral.h"
#include "catalog/names.h"

namespace trainfit::catalog {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

template <std::size_t kCount>
bool IsOneOf(std::string_view word, const std::array<std::string_view, kCount>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// How a model was tuned, stored or called; nothing of its shape.
constexpr std::array<std::string_view, 41> kIdle = {
    "hf",    "instruct", "chat",    "it",      "pt",         "sft",   "dpo",  "ppo",  "rlhf",
    "orpo",  "kto",      "grpo",    "lora",    "qlora",      "tuned", "meta", "text", "thinking",
    "model", "deduped",  "uncased", "preview", "pretrain",   "gptq",  "awq",  "gguf", "bnb",
    "4bit",  "8bit",     "int4",    "int8",    "fp8",        "nf4",   "bf16", "fp16", "class",
    "like",  "a",        "the",     "typical", "pretrained",
};

// Words that name another architecture, or another size in words, than the name without them.
constexpr std::array<std::string_view, 35> kTelling = {
    "vl",   "vision",    "omni",  "audio", "moe",      "llava", "internvl",  "minicpm", "xcomposer",
    "next", "mamba",     "jamba", "rwkv",  "mini",     "small", "medium",    "large",   "xl",
    "xxl",  "nano",      "tiny",  "lite",  "flan",     "bert",  "embedding", "clip",    "whisper",
    "nemo", "diffusion", "asr",   "tts",   "minitron", "plus",  "actor",     "critic",
};

// Words beside a bare size that say no more than it.
constexpr std::array<std::string_view, 10> kGeneric = {
    "llm", "lm", "transformer", "dense", "decoder", "parameters", "params", "size", "of", "base",
};

// "0.1", "2407": versions and dates of one shape.
bool IsVersionOrDate(std::string_view word) {
  if (word.starts_with("0.") || word == "01" || word == "1.0") return true;
  return word.size() == 4 && std::all_of(word.begin(), word.end(), IsDigit);
}

// "32k": how long a context it was tuned for.
bool IsContext(std::string_view word) {
  return word.size() > 1 && word.back() == 'k' &&
         std::all_of(word.begin(), word.end() - 1, IsDigit);
}

bool IsIdle(std::string_view word) {
  return IsOneOf(word, kIdle) || IsVersionOrDate(word) || IsContext(word);
}

// "7b", "1.5b", "350m", "7b1".
std::optional<double> Billions(std::string_view word) {
  const std::size_t unit = word.find_first_not_of("0123456789.");
  if (unit == 0 || unit == std::string_view::npos) return std::nullopt;
  std::string digits(word.substr(0, unit));
  const std::string_view rest = word.substr(unit + 1);
  if (!std::all_of(rest.begin(), rest.end(), IsDigit)) return std::nullopt;
  if (word[unit] == 'm' && rest.empty()) {
    const auto millions = ParseDecimal(digits);
    if (!millions) return std::nullopt;
    return *millions / 1000;
  }
  if (word[unit] != 'b' || rest.size() > 1) return std::nullopt;
  if (!rest.empty()) digits += "." + std::string(rest);
  return ParseDecimal(digits);
}

// "1_8b" is written for "1.8b".
std::string WithPoints(std::string_view name) {
  std::string text(name);
  for (std::size_t i = 1; i + 1 < text.size(); ++i) {
    if (text[i] == '_' && IsDigit(text[i - 1]) && IsDigit(text[i + 1])) text[i] = '.';
  }
  return text;
}

std::string WithoutRemarks(std::string_view name) {
  std::string text;
  int depth = 0;
  for (const char c : name) {
    if (c == '(') ++depth;
    if (depth == 0) text += c;
    if (c == ')' && depth > 0) --depth;
  }
  return text;
}

// "qwen2.5" → qwen, 2.5; "v1.5" → 1.5. Other words of one letter and digits name a thing: "r1".
void AddPieces(std::string_view word, std::vector<std::string>* pieces) {
  while (!word.empty() && word.back() == '.') word.remove_suffix(1);
  while (!word.empty() && word.front() == '.') word.remove_prefix(1);
  const std::size_t digit = word.find_first_of("0123456789");
  if (digit == 1 && word[0] == 'v') {
    word.remove_prefix(1);
  } else if (digit != std::string_view::npos && digit >= 2) {
    pieces->emplace_back(word.substr(0, digit));
    word.remove_prefix(digit);
  }
  if (!word.empty()) pieces->emplace_back(word);
}

struct Base {
  std::string_view tuned;
  std::string_view version;  // a word that must stand beside it; empty: none
  std::array<std::string_view, 2> base;
};

// Models that were tuned from another without naming it, as their cards say.
constexpr Base kBases[] = {
    {"vicuna", "1.5", {"llama", "2"}},   {"vicuna", "", {"llama", ""}},
    {"alpaca", "", {"llama", ""}},       {"koala", "", {"llama", ""}},
    {"guanaco", "", {"llama", ""}},      {"stablevicuna", "", {"llama", ""}},
    {"openllama", "", {"llama", ""}},    {"wizardlm", "", {"llama", ""}},
    {"wizardmath", "", {"llama", "2"}},  {"metamath", "", {"llama", "2"}},
    {"tulu", "2", {"llama", "2"}},       {"orca", "2", {"llama", "2"}},
    {"xwin", "", {"llama", "2"}},        {"beluga", "", {"llama", "2"}},
    {"longalpaca", "", {"llama", "2"}},  {"wizardcoder", "", {"starcoder", ""}},
    {"starchat", "", {"starcoder", ""}}, {"bloomz", "", {"bloom", ""}},
    {"zephyr", "", {"mistral", ""}},     {"openhermes", "", {"mistral", ""}},
    {"starling", "", {"mistral", ""}},   {"openchat", "", {"mistral", ""}},
    {"mathstral", "", {"mistral", ""}},  {"qwq", "", {"qwen", "2.5"}},
};

bool Has(const ModelWords& name, std::string_view word) {
  return std::find(name.words.begin(), name.words.end(), word) != name.words.end();
}

void Remove(std::string_view word, ModelWords* name) {
  name->words.erase(std::remove(name->words.begin(), name->words.end(), word), name->words.end());
}

}  // namespace

ModelWords SplitModelName(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  if (slash != std::string_view::npos) name.remove_prefix(slash + 1);
  std::vector<std::string> pieces;
  for (const std::string& word : NameWords(Kind::kModel, WithPoints(WithoutRemarks(name)))) {
    AddPieces(word, &pieces);
  }
  ModelWords split;
  for (std::string& piece : pieces) {
    if (const auto billions = Billions(piece)) {
      split.billions.push_back(*billions);
    } else if (!IsIdle(piece)) {
      split.words.push_back(std::move(piece));
    }
  }
  // "bert-base" is a size in words; "Yi-6B-Base" is not.
  if (!split.billions.empty()) Remove("base", &split);
  return split;
}

Renamed NameTheBase(ModelWords words) {
  Renamed renamed{std::move(words), ""};
  for (const Base& base : kBases) {
    ModelWords& name = renamed.words;
    if (!Has(name, base.tuned)) continue;
    if (Has(name, base.base[0])) continue;  // it names its base itself
    if (!base.version.empty() && !Has(name, base.version)) continue;
    Remove(base.tuned, &name);
    if (!base.version.empty()) Remove(base.version, &name);
    renamed.replaced = std::string(base.tuned) + " is a tuned";
    for (const std::string_view word : base.base) {
      if (word.empty()) continue;
      name.words.emplace_back(word);
      renamed.replaced += " " + std::string(word);
    }
    break;
  }
  return renamed;
}

std::optional<int> Likeness(const ModelWords& name, const ModelWords& known) {
  for (const std::string& word : known.words) {
    if (!Has(name, word)) return std::nullopt;
  }
  for (const std::string& word : name.words) {
    if (IsOneOf(word, kTelling) && !Has(known, word)) return std::nullopt;
  }
  if (name.billions.empty() != known.billions.empty()) return std::nullopt;
  for (const double size : name.billions) {
    const auto is_same = [&](double other) { return IsSameSize(size, other); };
    if (std::none_of(known.billions.begin(), known.billions.end(), is_same)) return std::nullopt;
  }
  return static_cast<int>(known.words.size());
}

bool IsBareSize(const ModelWords& name) {
  return name.billions.size() == 1 &&
         std::all_of(name.words.begin(), name.words.end(),
                     [](const std::string& word) { return IsOneOf(word, kGeneric); });
}

bool IsSameSize(double billions, double other) {
  // 6.8 is called 7, 1.35 is called 1.3; 13 and 14 are told apart by who fits better.
  constexpr double kRounding = 0.08;
  return std::abs(billions - other) <= kRounding * std::max(billions, other);
}

}  // namespace trainfit::catalog
