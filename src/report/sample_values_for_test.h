// Answers made by hand, as the tests of this folder show them. The numbers are plausible and made
// up: what is tested is how they are shown.
#pragma once

#include <memory>
#include <numeric>
#include <utility>

#include "verdict/survey.h"
#include "verdict/verdict.h"

namespace trainfit::report {

inline verdict::Estimate Range(double low, double point, double high) {
  return {BytesFromGiB(point), BytesFromGiB(low), BytesFromGiB(high)};
}

inline std::shared_ptr<const spec::ModelSpec> SampleModel() {
  spec::ModelSpec model;
  model.id = "example/tiny-7b";
  spec::Stack stack;
  stack.before = {{.name = "model.embed_tokens.weight", .shape = {32000, 4096}}};
  spec::LayerKind layer;
  layer.tensors = {{.name = "mlp.up_proj.weight", .shape = {14336, 4096}, .is_linear = true}};
  stack.kinds = {layer};
  stack.runs = {{.kind = 0, .first = 0, .count = 32}};
  model.stacks = {stack};
  return std::make_shared<const spec::ModelSpec>(model);
}

inline plan::Plan SamplePlan(spec::Method method) {
  const plan::Stack stack{
      "huggingface", {{"transformers", {5, 3, 0}}, {"peft", {0, 18, 1}}, {"torch", {2, 12, 0}}}};
  plan::Plan plan{.model = SampleModel(), .facts = plan::FactTable(stack, {})};
  plan.method = method;
  return plan;
}

inline spec::Machine SampleMachine(std::int64_t gpus) {
  spec::Machine machine;
  machine.gpu.id = "rtx-4090";
  machine.gpu.name = "GeForce RTX 4090";
  machine.gpu.memory_usable = BytesFromGiB(23.5);
  machine.gpu.memory_printed = "24 GB";
  machine.gpus_per_node = gpus;
  machine.written_as = gpus == 1 ? "rtx-4090" : std::to_string(gpus) + "xrtx-4090";
  return machine;
}

inline verdict::PartBytes SamplePart(std::string name, double gib, std::string formula,
                                     Basis basis = Basis::kExact, std::string source = "") {
  return {std::move(name), BytesFromGiB(gib), basis, std::move(formula), std::move(source)};
}

inline std::vector<plan::Assumption> SampleAssumptions() {
  return {{"activation checkpointing", "on", Basis::kSource, "transformers TrainingArguments"},
          {"attention", "sdpa", Basis::kSource, "transformers modeling_utils.py"},
          {"CUDA context", "0.45 GiB", Basis::kMeasured, "driver 550, CUDA 12.4"}};
}

// QLoRA on one card: fits.
inline verdict::Answer SampleFits() {
  verdict::Answer answer{.plan = SamplePlan(spec::Method::kQlora), .machine = SampleMachine(1)};
  answer.fit = verdict::Fit::kFits;
  verdict::PlaceAnswer gpu;
  gpu.scope = "rank";
  gpu.fit = verdict::Fit::kFits;
  gpu.parts = {
      SamplePart("weights, 4-bit", 3.75, "0.5 B × 6,979,321,856 parameters + scales"),
      SamplePart("logits and loss", 2.25, "14 B × 2,048 tokens × 32,000 words", Basis::kSource,
                 "transformers loss_utils.py, read at v5.3.0"),
      SamplePart("gradients", 0.125, "4 B × 41,943,040 adapter parameters"),
      SamplePart("CUDA context and libraries", 0.5, "", Basis::kMeasured, "driver 550, CUDA 12.4"),
      SamplePart("code tables", 0.0005, "256 × 4 B a matrix")};
  for (const verdict::PartBytes& part : gpu.parts) gpu.bytes.point += part.bytes;
  gpu.bytes.low = BytesFromGiB(6.25);
  gpu.bytes.high = BytesFromGiB(7.5);
  gpu.capacity = answer.machine.gpu.memory_usable;
  gpu.peak_moment = "loss backward: gradient of the logits";
  gpu.readings = verdict::Readings{Range(5.9, 6.0, 6.2), Range(6.0, 6.125, 6.75), gpu.bytes};
  verdict::PlaceAnswer loading;
  loading.place = program::Place::kHost;
  loading.scope = "node";
  loading.fit = verdict::Fit::kUnknown;
  loading.bytes = Range(4, 5, 9);
  verdict::PlaceAnswer loading_gpu;
  loading_gpu.scope = "rank";
  loading_gpu.fit = verdict::Fit::kFits;
  loading_gpu.bytes = Range(4, 4.5, 5);
  loading_gpu.capacity = gpu.capacity;
  answer.phases = {{program::Phase::kLoad, {{"every rank", 1, {loading_gpu, loading}}}},
                   {program::Phase::kSteadyStep, {{"every rank", 1, {gpu}}}}};
  answer.limits = {14, 24576, 1};
  answer.assumptions = SampleAssumptions();
  return answer;
}

// Full fine-tuning on eight cards: no batch helps.
inline verdict::Answer SampleDoesNotFit() {
  verdict::Answer answer{.plan = SamplePlan(spec::Method::kFull), .machine = SampleMachine(8)};
  answer.plan.parallel = {.sharding = spec::Sharding::kDdp, .data = 8};
  answer.plan.gradient_accumulation = 4;
  answer.fit = verdict::Fit::kDoesNotFit;
  answer.machine.price = PerHour(Dollars(5.52));
  answer.machine.price_source = "runpod-community-rtx-4090, 2026-11-09";
  answer.machine.price_date = "2026-11-09";
  answer.machine.assumptions = {"PCIe gen4 x16 between the cards"};
  verdict::PlaceAnswer gpu;
  gpu.scope = "rank";
  gpu.fit = verdict::Fit::kDoesNotFit;
  gpu.parts = {SamplePart("optimizer states", 54, "8 B × 7,241,732,096 parameters"),
               SamplePart("weights", 27, "4 B × 7,241,732,096 parameters"),
               SamplePart("gradients", 27, "4 B × 7,241,732,096 parameters"),
               SamplePart("activations", 2.25, "")};
  for (const verdict::PartBytes& part : gpu.parts) gpu.bytes.point += part.bytes;
  gpu.bytes.low = BytesFromGiB(108);
  gpu.bytes.high = BytesFromGiB(116);
  gpu.capacity = answer.machine.gpu.memory_usable;
  gpu.peak_moment = "optimizer step: foreach temporaries";
  answer.phases = {{program::Phase::kSteadyStep, {{"every rank", 8, {gpu}}}}};
  answer.limits.min_gpus = 6;
  answer.remedies = {{"--method qlora", "trains adapters on 4-bit weights only",
                      verdict::Fit::kFits, BytesFromGiB(6.63), BytesFromGiB(103.62)},
                     {"--sharding fsdp2", "gathers and reduces 1.5 times the bytes of ddp",
                      verdict::Fit::kTight, BytesFromGiB(22.9), BytesFromGiB(87.35)},
                     {"--micro-batch 1 is already the least; --seq-len 512",
                      "shorter texts; what is longer is cut", verdict::Fit::kDoesNotFit,
                      BytesFromGiB(109), BytesFromGiB(1.25)}};
  answer.assumptions = SampleAssumptions();
  answer.warnings = {"max_position_embeddings of the model is 4,096; the length is above it"};
  return answer;
}

inline verdict::Holder SampleHolder(std::string gpu, std::int64_t gpus, double dollars,
                                    std::string offer, std::string date) {
  verdict::Holder holder;
  holder.gpu.id = std::move(gpu);
  holder.gpus = gpus;
  holder.per_gpu = Range(1, 2, 3);
  holder.price = PerHour(Dollars(dollars));
  const bool is_community = offer.find("community") != std::string::npos;
  holder.offer = spec::Offer{.id = std::move(offer),
                             .provider = "RunPod",
                             .price_date = std::move(date),
                             .tier = is_community ? "community" : "secure"};
  return holder;
}

inline verdict::Survey SampleSurvey() {
  verdict::Survey survey;
  const auto row = [&survey](std::string name, spec::Method method, verdict::Estimate estimate,
                             std::int64_t trainable) {
    verdict::SurveyRow row{.name = std::move(name), .plan = SamplePlan(method)};
    row.one_gpu = estimate;
    row.parts = {SamplePart("weights", 27, "4 B × 7,241,732,096 parameters", Basis::kExact,
                            "shapes of the checkpoint")};
    row.trainable = trainable;
    survey.rows.push_back(std::move(row));
    return &survey.rows.back();
  };
  verdict::SurveyRow* full =
      row("full, AdamW", spec::Method::kFull, Range(108, 112, 118), 7'241'732'096);
  full->smallest = SampleHolder("h200-sxm", 1, 3.99, "runpod-secure-h200-sxm", "2026-11-09");
  full->cheapest = SampleHolder("rtx-a6000", 4, 1.96, "runpod-community-rtx-a6000", "2026-08-19");
  full->cheapest->fit = verdict::Fit::kTight;
  row("full, AdamW 8-bit", spec::Method::kFull, Range(66, 70.5, 74), 7'241'732'096)->smallest =
      SampleHolder("a100-sxm-80", 1, 1.89, "runpod-secure-a100-sxm-80", "2026-11-09");
  verdict::SurveyRow* lora =
      row("LoRA r16", spec::Method::kLora, Range(15.9, 16.75, 17.9), 41'943'040);
  lora->smallest = SampleHolder("rtx-4090", 1, 0.69, "runpod-community-rtx-4090", "2026-11-09");
  lora->cheapest = SampleHolder("rtx-3090", 1, 0.22, "runpod-community-rtx-3090", "2026-11-09");
  row("QLoRA r16", spec::Method::kQlora, Range(6.25, 6.625, 7.5), 41'943'040);
  survey.assumptions = SampleAssumptions();
  return survey;
}

}  // namespace trainfit::report
