#include "report/describe.h"

#include <algorithm>

#include "report/numbers.h"
#include "spec/model.h"
#include "spec/recipe.h"

namespace trainfit::report {
namespace {

std::string ParallelText(const plan::Parallel& parallel) {
  std::string text;
  if (parallel.sharding != spec::Sharding::kNone) {
    text = std::string(spec::Name(parallel.sharding)) + " over " + WithCommas(parallel.data);
  }
  const auto add = [&text](std::string_view what, std::int64_t ways) {
    if (ways <= 1) return;
    if (!text.empty()) text += ", ";
    text += std::string(what) + " " + WithCommas(ways);
  };
  add("tensor parallel", parallel.tensor);
  add("pipeline", parallel.pipeline);
  add("context parallel", parallel.context);
  add("expert parallel", parallel.expert);
  return text;
}

}  // namespace

std::string Joined(const std::vector<std::string>& words, std::string_view between) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += between;
    text += word;
  }
  return text;
}

std::string ModelText(const spec::ModelSpec& model) {
  const std::int64_t all = spec::ParameterCount(model);
  const std::int64_t active = spec::ActiveParameterCount(model);
  std::string text = model.id + ", " + WithCommas(all) + " parameters";
  if (active != all) text += " (" + ShortCount(active) + " active a token)";
  return text;
}

std::string_view MethodTitle(spec::Method method) {
  switch (method) {
    case spec::Method::kFull:
      return "full fine-tuning";
    case spec::Method::kLora:
      return "LoRA";
    case spec::Method::kQlora:
      return "QLoRA";
  }
  return "?";
}

std::string MethodText(const plan::Plan& plan) {
  std::string text(MethodTitle(plan.method));
  if (plan.method != spec::Method::kFull) {
    text += ", rank " + WithCommas(plan.lora.rank) + " on " + Joined(plan.lora.targets);
    if (!plan.lora.modules_to_save.empty()) {
      text += ", and whole " + Joined(plan.lora.modules_to_save);
    }
  }
  const std::int64_t trainable = plan::TrainableParameterCount(plan);
  const std::int64_t all = std::max<std::int64_t>(1, spec::ParameterCount(*plan.model));
  text += "; " + WithCommas(trainable) + " trainable";
  if (trainable != all) text += " (" + Percent(trainable, all) + ")";
  return text;
}

std::string BatchText(const plan::Plan& plan) {
  std::string text = "micro-batch " + WithCommas(plan.micro_batch) + " × " +
                     WithCommas(plan.sequence_length) + " tokens";
  if (plan.gradient_accumulation > 1) {
    text += ", " + WithCommas(plan.gradient_accumulation) + " accumulated";
  }
  return text;
}

std::string ChoicesText(const plan::Plan& plan) {
  std::string text(spec::Name(plan.precision));
  if (plan.fp8) text += " with products in fp8";
  text += ", " + std::string(spec::Name(plan.optimizer));
  text += " (" + std::string(spec::Name(plan.optimizer_loop)) + ")";
  text += plan.checkpointing == spec::Checkpointing::kNone ? ", no checkpointing"
                                                           : ", activation checkpointing";
  text += ", " + std::string(spec::Name(plan.attention)) + " attention";
  text += ", " + std::string(spec::Name(plan.loss)) + " loss";
  const std::string parallel = ParallelText(plan.parallel);
  if (!parallel.empty()) text += ", " + parallel;
  return text;
}

std::string HardwareText(const spec::Machine& machine) {
  std::string text;
  if (machine.nodes > 1) text = WithCommas(machine.nodes) + " nodes × ";
  text += WithCommas(machine.gpus_per_node) + " × " + machine.gpu.name;
  text += ", " + GiBAndGB(machine.gpu.memory_usable) + " usable";
  if (machine.Gpus() > 1) text += " each";
  if (!machine.gpu.memory_printed.empty()) text += ", sold as " + machine.gpu.memory_printed;
  if (machine.price) {
    text += "; $" + PerHourColumn(*machine.price) + "/h";
    if (!machine.price_source.empty()) text += " (" + machine.price_source + ")";
  }
  return text;
}

std::string PhaseText(program::Phase phase) {
  std::string text(program::Name(phase));
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

std::string_view PlaceText(program::Place place) {
  switch (place) {
    case program::Place::kGpu:
      return "GPU";
    case program::Place::kHost:
      return "host RAM";
    case program::Place::kPinned:
      return "pinned RAM";
    case program::Place::kDisk:
      return "disk";
  }
  return "?";
}

std::string_view FitWord(verdict::Fit fit) {
  switch (fit) {
    case verdict::Fit::kFits:
      return "fits";
    case verdict::Fit::kTight:
      return "tight";
    case verdict::Fit::kDoesNotFit:
      return "does not fit";
    case verdict::Fit::kUnknown:
      return "unknown";
  }
  return "?";
}

Tone FitTone(verdict::Fit fit) {
  switch (fit) {
    case verdict::Fit::kFits:
      return Tone::kGood;
    case verdict::Fit::kTight:
    case verdict::Fit::kUnknown:
      return Tone::kWarn;
    case verdict::Fit::kDoesNotFit:
      return Tone::kBad;
  }
  return Tone::kPlain;
}

}  // namespace trainfit::report
