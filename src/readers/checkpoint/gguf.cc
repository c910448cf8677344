#include "readers/checkpoint/gguf.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "base/json_writer.h"
#include "readers/config_view.h"

namespace trainfit::readers {
namespace {

// ggml/include/ggml.h enum ggml_type; empty: a number that is not in use.
constexpr std::string_view kTensorTypes[] = {
    "F32",     "F16",    "Q4_0",    "Q4_1",  "",       "",      "Q5_0",  "Q5_1",
    "Q8_0",    "Q8_1",   "Q2_K",    "Q3_K",  "Q4_K",   "Q5_K",  "Q6_K",  "Q8_K",
    "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S", "IQ2_S", "IQ4_XS",
    "I8",      "I16",    "I32",     "I64",   "F64",    "IQ1_M", "BF16",  "",
    "",        "",       "TQ1_0",   "TQ2_0", "",       "",      "",      "MXFP4"};

// gguf.md, enum gguf_metadata_value_type: bytes of the fixed ones; strings 8, lists 9.
constexpr int kValueBytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
constexpr std::uint32_t kString = 8;
constexpr std::uint32_t kList = 9;
constexpr std::uint32_t kFloat32 = 6;
constexpr std::uint32_t kFloat64 = 12;
constexpr std::uint64_t kMostTensors = 1'000'000;
constexpr std::uint64_t kMostSettings = 100'000;
constexpr std::uint64_t kMostDimensions = 8;

class Parser {
 public:
  Parser(std::string_view head, std::uint64_t file_bytes, GgufHeader* header)
      : head_(head), file_bytes_(file_bytes), header_(header) {}

  // The error, or empty; `needs_more` when the text ended first.
  std::string Parse() {
    if (Bytes(4) != "GGUF") return Fault("it does not begin with GGUF");
    const auto version = Unsigned<std::uint32_t>();
    if (!is_short_ && version != 2 && version != 3) {
      return Fault(fmt::format("version {} of GGUF; 2 and 3 are known", version));
    }
    const auto tensors = Unsigned<std::uint64_t>();
    const auto settings = Unsigned<std::uint64_t>();
    if (is_short_) return "";
    // Nothing takes less than 24 and 13 bytes.
    if (tensors > kMostTensors || settings > kMostSettings ||
        tensors * 24 + settings * 13 > file_bytes_) {
      return Fault(
          fmt::format("{} tensors and {} settings in {} bytes", tensors, settings, file_bytes_));
    }
    for (std::uint64_t i = 0; i < settings && error_.empty() && !is_short_; ++i) Setting();
    for (std::uint64_t i = 0; i < tensors && error_.empty() && !is_short_; ++i) Tensor();
    return error_;
  }

  bool is_short() const { return is_short_; }

 private:
  std::string Fault(std::string what) { return is_short_ ? std::string() : std::move(what); }

  std::string_view Bytes(std::uint64_t count) {
    if (is_short_ || count > head_.size() - at_) {
      is_short_ = true;
      return {};
    }
    const std::string_view bytes = head_.substr(at_, count);
    at_ += count;
    return bytes;
  }

  template <typename T>
  T Unsigned() {
    const std::string_view bytes = Bytes(sizeof(T));
    T value = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      value = static_cast<T>(value | static_cast<T>(static_cast<unsigned char>(bytes[i])) << 8 * i);
    }
    return value;
  }

  std::string_view Text() {
    const auto length = Unsigned<std::uint64_t>();
    if (!is_short_ && length > file_bytes_) {
      error_ = fmt::format("a text of {} bytes in a file of {}", length, file_bytes_);
      return {};
    }
    return Bytes(length);
  }

  std::optional<double> Number(std::uint32_t type) {
    const std::string_view bytes = Bytes(static_cast<std::uint64_t>(kValueBytes[type]));
    if (is_short_) return std::nullopt;
    if (type == kFloat32) {
      float value = 0;
      std::memcpy(&value, bytes.data(), sizeof(value));
      return value;
    }
    if (type == kFloat64) {
      double value = 0;
      std::memcpy(&value, bytes.data(), sizeof(value));
      return value;
    }
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << 8 * i;
    }
    return static_cast<double>(value);
  }

  void Setting() {
    const std::string key(Text());
    const auto type = Unsigned<std::uint32_t>();
    if (is_short_ || !error_.empty()) return;
    if (type >= std::size(kValueBytes)) {
      error_ = fmt::format("\"{}\" is of the unknown type {}", key, type);
    } else if (type == kString) {
      header_->words[key] = std::string(Text());
    } else if (type == kList) {
      List(key);
    } else if (const auto value = Number(type)) {
      header_->numbers[key] = *value;
    }
  }

  void List(const std::string& key) {
    const auto type = Unsigned<std::uint32_t>();
    const auto count = Unsigned<std::uint64_t>();
    if (is_short_) return;
    if (type >= std::size(kValueBytes) || type == kList || count > file_bytes_) {
      error_ = fmt::format("\"{}\" is a list of {} values of type {}", key, count, type);
      return;
    }
    header_->numbers[key + ".length"] = static_cast<double>(count);
    if (type == kString) {
      for (std::uint64_t i = 0; i < count && error_.empty() && !is_short_; ++i) Text();
      return;
    }
    if (count == 0) return;
    if (const auto first = Number(type)) header_->numbers[key] = *first;
    // The product cannot overflow: count is at most the size of a file.
    Bytes((count - 1) * static_cast<std::uint64_t>(kValueBytes[type]));
  }

  void Tensor() {
    StoredTensor tensor;
    tensor.name = std::string(Text());
    const auto dimensions = Unsigned<std::uint32_t>();
    if (is_short_ || !error_.empty()) return;
    if (dimensions > kMostDimensions) {
      error_ = fmt::format("\"{}\" has {} dimensions", tensor.name, dimensions);
      return;
    }
    for (std::uint32_t i = 0; i < dimensions; ++i) {
      const auto size = Unsigned<std::uint64_t>();
      if (size > static_cast<std::uint64_t>(kMaxParameters)) {
        error_ = fmt::format("\"{}\" has a dimension of {}", tensor.name, size);
        return;
      }
      tensor.shape.insert(tensor.shape.begin(), static_cast<std::int64_t>(size));
    }
    const auto type = Unsigned<std::uint32_t>();
    const auto offset = Unsigned<std::uint64_t>();
    if (is_short_) return;
    if (type >= std::size(kTensorTypes) || kTensorTypes[type].empty()) {
      error_ = fmt::format("\"{}\" is of the unknown type {}", tensor.name, type);
    } else if (offset > file_bytes_) {
      error_ = fmt::format("\"{}\" lies at byte {} of {}", tensor.name, offset, file_bytes_);
    } else {
      tensor.dtype = kTensorTypes[type];
      header_->tensors.push_back(std::move(tensor));
    }
  }

  std::string_view head_;
  std::uint64_t file_bytes_;
  GgufHeader* header_;
  std::size_t at_ = 0;
  bool is_short_ = false;
  std::string error_;
};

struct Architecture {
  std::string_view gguf;
  std::string_view model_type;
};
// src/llama-arch.cpp of llama.cpp, transformers/integrations/ggml.py GGUF_CONFIG_MAPPING.
constexpr Architecture kArchitectures[] = {
    {"bloom", "bloom"},
    {"command-r", "cohere"},
    {"falcon", "falcon"},
    {"gemma", "gemma"},
    {"gemma2", "gemma2"},
    {"gemma3", "gemma3_text"},
    {"gpt-oss", "gpt_oss"},
    {"gpt2", "gpt2"},
    {"gptneox", "gpt_neox"},
    {"granite", "granite"},
    {"llama", "llama"},
    {"mistral3", "mistral"},
    {"mpt", "mpt"},
    {"nemotron", "nemotron"},
    {"olmo2", "olmo2"},
    {"phi2", "phi"},
    {"phi3", "phi3"},
    {"qwen2", "qwen2"},
    {"qwen2moe", "qwen2_moe"},
    {"qwen3", "qwen3"},
    {"qwen3moe", "qwen3_moe"},
    {"seed_oss", "seed_oss"},
    {"smollm3", "smollm3"},
    {"stablelm", "stablelm"},
    {"starcoder2", "starcoder2"},
};

// Settings of the architecture, and what configurations call them.
struct Key {
  std::string_view gguf;
  std::string_view config;
};
constexpr Key kKeys[] = {
    {"block_count", "num_hidden_layers"},
    {"context_length", "max_position_embeddings"},
    {"embedding_length", "hidden_size"},
    {"feed_forward_length", "intermediate_size"},
    {"attention.head_count", "num_attention_heads"},
    {"attention.head_count_kv", "num_key_value_heads"},
    {"attention.key_length", "head_dim"},
    {"expert_count", "num_local_experts"},
    {"expert_used_count", "num_experts_per_tok"},
    {"expert_feed_forward_length", "moe_intermediate_size"},
    {"expert_shared_feed_forward_length", "shared_expert_intermediate_size"},
};

const StoredTensor* FindTensor(const GgufHeader& header, std::string_view name) {
  const auto found = std::ranges::find(header.tensors, name, &StoredTensor::name);
  return found == header.tensors.end() ? nullptr : &*found;
}

}  // namespace

Expected<GgufState> ParseGguf(const std::string& name, std::string_view head,
                              std::uint64_t file_bytes, GgufHeader* header) {
  *header = {};
  Parser parser(head, file_bytes, header);
  std::string error = parser.Parse();
  if (error.empty() && !parser.is_short()) return GgufState::kDone;
  if (error.empty() && head.size() < file_bytes) return GgufState::kNeedsMore;
  if (error.empty()) error = "the header is cut off";
  return Fail(Error("bad-gguf", fmt::format("{}: {}", name, error),
                    "download the file again; its size is in the repository's list of files"));
}

std::string ConfigOfGguf(const GgufHeader& header) {
  const auto named = header.words.find("general.architecture");
  if (named == header.words.end()) return "";
  const std::string& gguf = named->second;
  const auto* known = std::ranges::find(kArchitectures, gguf, &Architecture::gguf);
  if (known == std::end(kArchitectures)) return "";
  const auto number = [&](std::string_view key) -> std::int64_t {
    const auto found = header.numbers.find(fmt::format("{}.{}", gguf, key));
    if (found == header.numbers.end()) return 0;
    const double value = found->second;
    return value >= 1 && value <= static_cast<double>(kMaxDimension) ? std::llround(value) : 0;
  };
  const bool has_experts = number("expert_count") > 0;
  JsonWriter json;
  json.BeginObject();
  json.Field("model_type",
             gguf == "llama" && has_experts ? std::string_view("mixtral") : known->model_type);
  for (const Key& key : kKeys) {
    if (const std::int64_t value = number(key.gguf); value > 0) json.Field(key.config, value);
  }
  const StoredTensor* table = FindTensor(header, "token_embd.weight");
  if (table != nullptr && table->shape.size() == 2) json.Field("vocab_size", table->shape[0]);
  json.Field("tie_word_embeddings", FindTensor(header, "output.weight") == nullptr);
  if (FindTensor(header, "blk.0.attn_q.bias") != nullptr) json.Field("attention_bias", true);
  json.Field("torch_dtype", "bfloat16");
  json.EndObject();
  return json.Take();
}

}  // namespace trainfit::readers
