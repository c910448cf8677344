// Any JSON as an adapter's configuration: tensors that it adds to a small model, or an error.
#include <cstdint>
#include <string>

#include "base/check.h"
#include "config/json_reader.h"
#include "plan/peft_tensors.h"
#include "readers/model_config.h"
#include "readers/peft_config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trainfit;
  static const auto model = readers::ReadModelConfig(
      *config::ParseJson("model", R"({"model_type": "mixtral", "vocab_size": 100, "hidden_size": 64,
          "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
          "num_key_value_heads": 2, "num_local_experts": 4})"),
      "model", nullptr);
  CHECK(model.has_value()) << "the model is good";
  const auto node =
      config::ParseJson("fuzz.json", std::string(reinterpret_cast<const char*>(data), size));
  if (!node.has_value()) return 0;
  const auto peft = readers::ReadPeftConfig(*node);
  CHECK(peft.has_value() || !peft.error().empty()) << "a refusal says why";
  if (!peft.has_value()) return 0;
  const auto tensors = plan::ExpandPeft(*model, *peft);
  CHECK(tensors.has_value() || !tensors.error().empty()) << "a refusal says why";
  CHECK(!tensors.has_value() || tensors->Added() >= 0) << "no overflow";
  return 0;
}
