#include "report/json_pieces.h"

#include <cmath>

#include "spec/dtype.h"
#include "spec/model.h"
#include "spec/recipe.h"

namespace trainfit::report {

void WriteStack(const plan::Stack& stack, JsonWriter* json) {
  json->BeginObject();
  json->Field("framework", stack.framework);
  json->Key("packages").BeginObject();
  for (const plan::Package& package : stack.packages) {
    json->Field(package.name, plan::Text(package.version));
  }
  json->EndObject();
  json->EndObject();
}

void WriteModel(const spec::ModelSpec& model, std::optional<std::int64_t> trainable,
                JsonWriter* json) {
  json->BeginObject();
  json->Field("id", model.id);
  json->Field("params", spec::ParameterCount(model));
  json->Field("active_params", spec::ActiveParameterCount(model));
  if (trainable) json->Field("trainable_params", *trainable);
  json->EndObject();
}

void WriteRecipe(const plan::Plan& plan, JsonWriter* json) {
  json->BeginObject();
  json->Field("method", spec::Name(plan.method));
  json->Field("micro_batch", plan.micro_batch);
  json->Field("sequence_length", plan.sequence_length);
  json->Field("gradient_accumulation", plan.gradient_accumulation);
  json->Field("precision", spec::Name(plan.precision));
  if (plan.fp8) json->Field("products_in_fp8", true);
  json->Field("optimizer", spec::Name(plan.optimizer));
  json->Field("optimizer_loop", spec::Name(plan.optimizer_loop));
  json->Field("checkpointing", spec::Name(plan.checkpointing));
  json->Field("attention", spec::Name(plan.attention));
  json->Field("loss", spec::Name(plan.loss));
  json->Field("sharding", spec::Name(plan.parallel.sharding));
  json->Field("data_parallel", plan.parallel.data);
  json->Field("weight_dtype", spec::Name(plan.weight_dtype));
  if (plan.method != spec::Method::kFull) {
    json->Field("adapter_dtype", spec::Name(plan.adapter_dtype));
    json->Field("lora_rank", plan.lora.rank);
    json->Key("lora_targets").BeginArray();
    for (const std::string& target : plan.lora.targets) json->String(target);
    json->EndArray();
  }
  json->EndObject();
}

void WriteMachine(const spec::Machine& machine, JsonWriter* json) {
  json->BeginObject();
  json->Field("on", machine.written_as);
  json->Field("gpu", machine.gpu.id);
  json->Field("name", machine.gpu.name);
  json->Field("nodes", machine.nodes);
  json->Field("gpus_per_node", machine.gpus_per_node);
  json->Field("usable_bytes_per_gpu", machine.gpu.memory_usable);
  WritePrice("usd_per_hour", machine.price, json);
  json->Key("assumptions");
  WriteWarnings(machine.assumptions, json);
  json->EndObject();
}

void WriteParts(const std::vector<verdict::PartBytes>& parts, JsonWriter* json) {
  json->BeginArray();
  for (const verdict::PartBytes& part : parts) {
    json->BeginObject();
    json->Field("name", part.name);
    json->Field("bytes", part.bytes);
    json->Field("basis", Name(part.basis));
    json->Field("source", part.source);
    json->Field("formula", part.formula);
    json->EndObject();
  }
  json->EndArray();
}

void WriteAssumptions(const std::vector<plan::Assumption>& assumptions, JsonWriter* json) {
  json->BeginArray();
  for (const plan::Assumption& assumption : assumptions) {
    json->BeginObject();
    json->Field("what", assumption.what);
    json->Field("value", assumption.value);
    json->Field("basis", Name(assumption.basis));
    json->Field("source", assumption.source);
    json->EndObject();
  }
  json->EndArray();
}

void WriteWarnings(const std::vector<std::string>& warnings, JsonWriter* json) {
  json->BeginArray();
  for (const std::string& warning : warnings) json->String(warning);
  json->EndArray();
}

void WriteEstimateFields(const verdict::Estimate& estimate, JsonWriter* json) {
  json->Field("point_bytes", estimate.point);
  json->Field("low_bytes", estimate.low);
  json->Field("high_bytes", estimate.high);
}

void WriteOptional(std::string_view key, const std::optional<std::int64_t>& value,
                   JsonWriter* json) {
  json->Key(key);
  if (value) {
    json->Int(*value);
  } else {
    json->Null();
  }
}

void WritePrice(std::string_view key, const std::optional<DollarsPerSecond>& price,
                JsonWriter* json) {
  json->Key(key);
  if (!price) {
    json->Null();
    return;
  }
  // A rate a second times 3600 is off in the last digits; prices have four at most.
  constexpr double kSteps = 1e4;
  json->Double(std::round(InDollarsPerHour(*price).value() * kSteps) / kSteps);
}

}  // namespace trainfit::report
