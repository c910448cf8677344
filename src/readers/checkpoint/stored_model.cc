#include "readers/checkpoint/stored_model.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "readers/layer_plan.h"

namespace trainfit::readers {
namespace {

using spec::TensorSpec;

// Where the format's packed tensors end, and what else belongs to them.
class Unpacker {
 public:
  explicit Unpacker(std::vector<StoredTensor> stored) : stored_(std::move(stored)) {
    for (std::size_t i = 0; i < stored_.size(); ++i) places_.emplace(stored_[i].name, i);
  }

  WholeTensors Unpack() {
    WholeTensors whole;
    whole.tensors.reserve(stored_.size());
    for (const StoredTensor& tensor : stored_) {
      if (IsHelper(tensor.name)) continue;
      StoredTensor unpacked = tensor;
      const std::string format = UnpackOne(&unpacked);
      if (!format.empty()) whole.format = format;
      whole.tensors.push_back(std::move(unpacked));
    }
    return whole;
  }

 private:
  const StoredTensor* Find(const std::string& name) const {
    const auto found = places_.find(name);
    return found == places_.end() ? nullptr : &stored_[found->second];
  }
  bool Has(const std::string& name) const { return Find(name) != nullptr; }

  // The name without `suffix`, if it ends so.
  static std::optional<std::string> Before(std::string_view name, std::string_view suffix) {
    if (!name.ends_with(suffix)) return std::nullopt;
    return std::string(name.substr(0, name.size() - suffix.size()));
  }

  // Scales, zero points and the like of a tensor that is there too.
  bool IsHelper(const std::string& name) const {
    struct Pair {
      std::string_view helper;
      std::string_view main;
    };
    static constexpr Pair kPairs[] = {
        // gptqmodel and AutoAWQ
        {".qzeros", ".qweight"},
        {".scales", ".qweight"},
        {".g_idx", ".qweight"},
        // bitsandbytes/functional.py QuantState.as_dict, bitsandbytes/nn/modules.py Linear8bitLt
        {".absmax", ""},
        {".quant_map", ""},
        {".nested_absmax", ""},
        {".nested_quant_map", ""},
        {".quant_state.bitsandbytes__nf4", ""},
        {".quant_state.bitsandbytes__fp4", ""},
        {".SCB", ".weight"},
        {".weight_format", ".weight"},
        // transformers/integrations/finegrained_fp8.py, DeepSeek's files
        {"_scale_inv", ""},
        // gpt-oss
        {"_scales", "_blocks"},
        // compressed-tensors
        {".weight_scale", ".weight_packed"},
        {".weight_scale", ".weight"},
        {".weight_zero_point", ".weight_packed"},
        {".weight_zero_point", ".weight"},
        {".weight_global_scale", ".weight_packed"},
        {".weight_shape", ".weight_packed"},
        {".weight_g_idx", ".weight_packed"},
        {".input_scale", ".weight"},
        {".input_global_scale", ".weight_packed"},
        // torchao/prototype/safetensors: the parts of a tensor subclass
        {"_weight_scale", "_weight_qdata"},
        {"_weight_zero_point", "_weight_qdata"},
    };
    return std::ranges::any_of(kPairs, [&](const Pair& pair) {
      const auto stem = Before(name, pair.helper);
      return stem.has_value() && Has(*stem + std::string(pair.main));
    });
  }

  // Turns a packed tensor into the one it stands for; the format, or empty.
  std::string UnpackOne(StoredTensor* tensor) const {
    if (const auto stem = Before(tensor->name, ".qweight")) return UnpackInt32(*stem, tensor);
    if (const auto stem = Before(tensor->name, "_blocks"); stem && Has(*stem + "_scales")) {
      // Blocks of 16 bytes: 32 numbers of 4 bits. [experts, out, in / 32, 16].
      tensor->name = *stem;
      if (tensor->shape.size() == 4 && tensor->shape[3] == 16) {
        tensor->shape = {tensor->shape[0], tensor->shape[1], Product(tensor->shape[2], 32)};
      }
      return "mxfp4";
    }
    if (Has(tensor->name + ".absmax")) {  // packed in pairs, [n, 1]; the shape is in a blob
      tensor->shape = {Product(tensor->Elements(), 2)};
      return "bnb-4bit";
    }
    if (const auto stem = Before(tensor->name, ".weight")) {
      if (Has(*stem + ".SCB")) return "bnb-8bit";
      if (tensor->dtype.starts_with("F8_") && Has(*stem + ".weight_scale_inv")) return "fp8";
      if (Has(*stem + ".weight_scale")) return "compressed-tensors";
    }
    if (Has(tensor->name + "_scale_inv")) return "fp8";
    if (const auto stem = Before(tensor->name, ".weight_packed")) {
      // Eight numbers of 4 bits in a word; two in a byte.
      tensor->name = *stem + ".weight";
      const std::int64_t in_one = tensor->dtype == "I32" ? 8 : 2;
      if (!tensor->shape.empty()) tensor->shape.back() = Product(tensor->shape.back(), in_one);
      return "compressed-tensors";
    }
    if (const auto stem = Before(tensor->name, "_weight_qdata")) {
      tensor->name = (stem->ends_with('.') ? stem->substr(0, stem->size() - 1) : *stem) + ".weight";
      return "torchao";
    }
    return "";
  }

  // GPTQ packs along the input, [in · bits / 32, out], AWQ along the output, [in, out · bits / 32].
  std::string UnpackInt32(const std::string& stem, StoredTensor* tensor) const {
    tensor->name = stem + ".weight";
    const StoredTensor* scales = Find(stem + ".scales");
    const StoredTensor* order = Find(stem + ".g_idx");
    if (tensor->shape.size() != 2 || scales == nullptr || scales->shape.size() != 2) return "gptq";
    const std::int64_t out = scales->shape[1];
    if (order == nullptr && out != tensor->shape[1]) {
      tensor->shape = {out, tensor->shape[0]};
      return "awq";
    }
    // Without g_idx: 4 bits, as nearly all files.
    const std::int64_t in = order != nullptr && order->shape.size() == 1
                                ? order->shape[0]
                                : Product(tensor->shape[0], 8);
    tensor->shape = {out, in};
    return "gptq";
  }

  std::vector<StoredTensor> stored_;
  std::unordered_map<std::string, std::size_t> places_;
};

spec::Dtype DtypeOf(std::string_view stored) {
  if (stored == "F32") return spec::Dtype::kFp32;
  if (stored == "F16") return spec::Dtype::kFp16;
  if (stored.starts_with("F8_E4M3")) return spec::Dtype::kFp8E4m3;
  if (stored.starts_with("F8_E5M2")) return spec::Dtype::kFp8E5m2;
  return spec::Dtype::kBf16;
}

// The type that most numbers have.
spec::Dtype MostOf(const std::vector<StoredTensor>& tensors) {
  std::map<std::string_view, std::int64_t> elements;
  for (const StoredTensor& tensor : tensors) {
    std::int64_t& sum = elements[tensor.dtype];
    if (__builtin_add_overflow(sum, tensor.Elements(), &sum)) sum = tensor.Elements();
  }
  const auto most =
      std::ranges::max_element(elements, {}, [](const auto& entry) { return entry.second; });
  return most == elements.end() ? spec::Dtype::kBf16 : DtypeOf(most->first);
}

// "model.layers.10.x" after "model.layers.9.x": numbers count as numbers.
bool ComesBefore(std::string_view a, std::string_view b) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const std::size_t i_begin = i;
      const std::size_t j_begin = j;
      while (i < a.size() && is_digit(a[i])) ++i;
      while (j < b.size() && is_digit(b[j])) ++j;
      if (i - i_begin != j - j_begin) return i - i_begin < j - j_begin;
      const int order = a.substr(i_begin, i - i_begin).compare(b.substr(j_begin, j - j_begin));
      if (order != 0) return order < 0;
      continue;
    }
    if (a[i] != b[j]) return a[i] < b[j];
    ++i;
    ++j;
  }
  return a.size() - i < b.size() - j;
}

}  // namespace

WholeTensors Unpack(std::vector<StoredTensor> stored) {
  return Unpacker(std::move(stored)).Unpack();
}

spec::ModelSpec ModelOfTensors(const std::string& id, const WholeTensors& whole) {
  spec::ModelSpec model;
  model.id = id;
  model.has_head = false;
  model.checkpoint_quantization = whole.format;
  model.checkpoint_dtype = MostOf(whole.tensors);
  model.source = "the tensors of the file";
  model.not_simulated =
      "only its tensors are known; a config.json beside them says what it computes";
  spec::Stack& stack = model.stacks.emplace_back();
  stack.before.reserve(whole.tensors.size());
  for (const StoredTensor& stored : whole.tensors) {
    TensorSpec& tensor = stack.before.emplace_back();
    tensor.name = stored.name;
    tensor.shape = stored.shape;
    tensor.is_bias = stored.name.ends_with(".bias");
  }
  std::ranges::sort(stack.before, ComesBefore, &TensorSpec::name);
  return model;
}

}  // namespace trainfit::readers
