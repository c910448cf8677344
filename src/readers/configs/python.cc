#include "readers/configs/python.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "config/python_calls.h"

namespace trainfit::readers {
namespace {

using config::Member;
using config::Node;
using config::NodeKind;
using config::PythonCall;

enum class CallKind { kSftConfig, kArguments, kTrainer, kSftTrainer, kLora, kQuantization, kLoad };

struct CalleeRow {
  std::string_view name;
  CallKind kind;
};
constexpr std::array kCallees = std::to_array<CalleeRow>({
    {"SFTConfig", CallKind::kSftConfig},
    {"TrainingArguments", CallKind::kArguments},
    {"Seq2SeqTrainingArguments", CallKind::kArguments},
    {"SFTTrainer", CallKind::kSftTrainer},
    {"Trainer", CallKind::kTrainer},
    {"LoraConfig", CallKind::kLora},
    {"BitsAndBytesConfig", CallKind::kQuantization},
});

// Trainers and libraries that have no lowering.
struct RefusedRow {
  std::string_view name;
  std::string_view what;
};
constexpr std::array kRefused = std::to_array<RefusedRow>({
    {"FastLanguageModel", "unsloth (its kernels, and checkpointing on the host)"},
    {"FastModel", "unsloth (its kernels, and checkpointing on the host)"},
    {"FastVisionModel", "unsloth (its kernels, and checkpointing on the host)"},
    {"DPOConfig", "preference training (DPO)"},
    {"ORPOConfig", "preference training (ORPO)"},
    {"KTOConfig", "preference training (KTO)"},
    {"CPOConfig", "preference training (CPO)"},
    {"GRPOConfig", "reinforcement learning (GRPO)"},
    {"PPOConfig", "reinforcement learning (PPO)"},
    {"RLOOConfig", "reinforcement learning (RLOO)"},
    {"RewardConfig", "reward models"},
});

std::string_view LastName(std::string_view callee) {
  const std::size_t dot = callee.rfind('.');
  return dot == std::string_view::npos ? callee : callee.substr(dot + 1);
}

std::optional<CallKind> KindOfCall(const PythonCall& call) {
  const std::string_view name = LastName(call.callee);
  for (const CalleeRow& row : kCallees) {
    if (row.name == name) return row.kind;
  }
  const bool loads = name == "from_pretrained" && call.callee.find("Model") != std::string::npos;
  return loads ? std::optional(CallKind::kLoad) : std::nullopt;
}

const RefusedRow* Refusal(const PythonCall& call) {
  for (const RefusedRow& row : kRefused) {
    const bool is_it = call.callee == row.name || LastName(call.callee) == row.name ||
                       call.callee.starts_with(std::string(row.name) + ".");
    if (is_it) return &row;
  }
  return nullptr;
}

// TRL's names for PEFT's and bitsandbytes' arguments; empty: the argument says nothing here.
std::string KeyFor(CallKind kind, const std::string& key) {
  switch (kind) {
    case CallKind::kLora:
      if (key == "r") return "lora_r";
      if (key == "target_modules" || key == "modules_to_save") return "lora_" + key;
      if (key == "target_parameters") return "lora_target_parameters";
      if (key == "lora_dropout" || key == "lora_alpha" || key == "use_dora" ||
          key == "use_rslora") {
        return key;
      }
      return "";
    case CallKind::kQuantization:
      if (key == "bnb_4bit_use_double_quant") return "use_bnb_nested_quant";
      return key == "load_in_4bit" || key == "load_in_8bit" ? key : "";
    case CallKind::kLoad:
      if (key == "torch_dtype" || key == "dtype") return "dtype";
      return key == "attn_implementation" || key == "load_in_4bit" || key == "load_in_8bit" ? key
                                                                                            : "";
    case CallKind::kTrainer:
      return "";
    case CallKind::kSftTrainer:
      return key == "max_seq_length" || key == "packing" ? key : "";
    case CallKind::kSftConfig:
    case CallKind::kArguments:
      return key;
  }
  return "";
}

class Collector {
 public:
  explicit Collector(Node root) : root_(std::move(root)) {}

  void Add(const PythonCall& call, CallKind kind) {
    for (const Member& member : call.arguments.members) {
      const std::string key = KeyFor(kind, member.key);
      if (!key.empty()) Set(key, member, member.value);
    }
    for (const Member& member : call.code) {
      if (IsDecisive(kind, KeyFor(kind, member.key))) CannotRun(member);
    }
    switch (kind) {
      case CallKind::kLora:
        Set("use_peft", At(call), Flag(call, true));
        break;
      case CallKind::kLoad:
        if (call.first.kind == NodeKind::kString) Set("model_name_or_path", At(call), call.first);
        loads_ = &call;
        break;
      case CallKind::kArguments:
        arguments_ = &call;
        break;
      case CallKind::kSftConfig:
      case CallKind::kSftTrainer:
        is_trl_ = true;
        break;
      default:
        break;
    }
  }

  Expected<PythonArguments> Finish() {
    if (!problems_.empty()) return Fail(std::move(problems_));
    // A model that is loaded outside the trainer has from_pretrained's type, not TRL's.
    if (is_trl_ && loads_ != nullptr) {
      Node as_stored = Flag(*loads_, false);
      as_stored.kind = NodeKind::kString;
      as_stored.text = "auto";
      SetIfAbsent("dtype", At(*loads_), as_stored);
    }
    // TrainingArguments handed to SFTTrainer keep their own defaults.
    if (is_trl_ && arguments_ != nullptr) {
      SetIfAbsent("bf16", At(*arguments_), Flag(*arguments_, false));
      SetIfAbsent("gradient_checkpointing", At(*arguments_), Flag(*arguments_, false));
    }
    return PythonArguments{is_trl_ ? &Trl() : &Transformers(), std::move(root_)};
  }

 private:
  static Member At(const PythonCall& call) {
    return {"", call.arguments.begin, call.arguments.end, Node()};
  }
  static Node Flag(const PythonCall& call, bool value) {
    Node node = call.arguments;
    node.members.clear();
    node.kind = NodeKind::kBool;
    node.boolean = value;
    return node;
  }

  void Set(const std::string& key, const Member& at, Node value) {
    for (Member& member : root_.members) {
      if (member.key != key) continue;
      member = {key, at.key_begin, at.key_end, std::move(value)};
      return;
    }
    root_.members.push_back({key, at.key_begin, at.key_end, std::move(value)});
  }
  void SetIfAbsent(const std::string& key, const Member& at, Node value) {
    if (root_.Find(key) == nullptr) Set(key, at, std::move(value));
  }

  static bool IsDecisive(CallKind kind, std::string_view key) {
    if (key.empty()) return false;
    const bool is_argument = kind == CallKind::kArguments || kind == CallKind::kSftConfig;
    for (const auto rows : {Trl().rows, Trl().more_rows}) {
      for (const KeyRow& row : rows) {
        if (row.key == key) return row.effect == Effect::kSays || row.effect == Effect::kRefused;
      }
    }
    return is_argument && key == "deepspeed";
  }

  // bf16=is_bfloat16_supported(): what it gives depends on the machine.
  void CannotRun(const Member& member) {
    const SourceSpan span = root_.document == nullptr
                                ? SourceSpan{}
                                : SpanInText(root_.document->name, root_.document->text,
                                             member.key_begin, member.key_end);
    problems_.push_back(ErrorAt(span, "python-code",
                                fmt::format("{} is Python code, which is not run", member.key),
                                fmt::format("{}=<the value itself>", member.key)));
  }

  Node root_;
  bool is_trl_ = false;
  const PythonCall* loads_ = nullptr;
  const PythonCall* arguments_ = nullptr;
  Diagnostics problems_;
};

}  // namespace

bool LooksLikePython(std::string_view text) {
  const auto has_call = [text](std::string_view name) {
    const std::size_t at = text.find(std::string(name) + "(");
    return at != std::string_view::npos;
  };
  return has_call(".from_pretrained") ||
         std::any_of(kCallees.begin(), kCallees.end(),
                     [&](const CalleeRow& row) { return has_call(row.name); }) ||
         std::any_of(kRefused.begin(), kRefused.end(),
                     [&](const RefusedRow& row) { return has_call(row.name); });
}

Expected<PythonArguments> ReadPython(std::string name, std::string text) {
  ASSIGN_OR_RETURN(const std::vector<PythonCall> calls,
                   config::ParsePythonCalls(std::move(name), std::move(text)));
  Diagnostics problems;
  Node root;
  root.kind = NodeKind::kObject;
  bool is_any = false;
  for (const PythonCall& call : calls) {
    root.document = call.arguments.document;
    if (const RefusedRow* row = Refusal(call)) {
      problems.push_back(ErrorAt(call.arguments.Span(), "not-simulated",
                                 fmt::format("{} cannot be simulated yet", row->what)));
      return Fail(std::move(problems));
    }
    is_any = is_any || KindOfCall(call).has_value();
  }
  if (!is_any) {
    return Fail(Error("no-arguments",
                      "no call of this Python text has training arguments that are known here",
                      "SFTConfig(...), TrainingArguments(...), LoraConfig(...)"));
  }
  Collector collector(std::move(root));
  for (const PythonCall& call : calls) {
    if (const std::optional<CallKind> kind = KindOfCall(call)) collector.Add(call, *kind);
  }
  return collector.Finish();
}

std::optional<std::string> CodeOfNotebook(const Node& root) {
  const Node* cells = root.Find("cells");
  if (cells == nullptr || root.Find("nbformat") == nullptr) return std::nullopt;
  std::string code;
  for (const Node& cell : cells->items) {
    const Node* type = cell.Find("cell_type");
    const Node* source = cell.Find("source");
    if (type == nullptr || type->text != "code" || source == nullptr) continue;
    std::string text = source->text;
    for (const Node& line : source->items) text += line.text;
    // Lines for the shell and for IPython are no Python.
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      const bool is_python = text[at] != '%' && text[at] != '!';
      if (is_python) code += text.substr(at, end - at);
      code += '\n';
      at = end + 1;
    }
  }
  return code;
}

}  // namespace trainfit::readers
