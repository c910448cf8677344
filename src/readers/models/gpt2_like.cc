// GPT-2 and what grew from its module names: transformer.wte, transformer.h.{l}., transformer.ln_f.
#include <utility>

#include "readers/models/builders.h"
#include "readers/models/llama_like.h"

namespace trainfit::readers {
namespace {

using config::Node;
using config::NodeKind;
using spec::Activation;
using spec::MlpKind;
using spec::NormKind;
using spec::Part;
using spec::Positions;

constexpr DecoderNames kNames = {.base = "transformer.",
                                 .layers = "h.{l}.",
                                 .token_embedding = "wte",
                                 .final_norm = "ln_f",
                                 .head = "lm_head"};

// modeling_gpt2.py, modeling_gpt_bigcode.py.
constexpr NamedPart kGpt2Parts[] = {
    {Part::kInputNorm, "ln_1"},     {Part::kQueryKeyValue, "attn.c_attn"},
    {Part::kOutput, "attn.c_proj"}, {Part::kPreMlpNorm, "ln_2"},
    {Part::kUp, "mlp.c_fc"},        {Part::kDown, "mlp.c_proj"},
};

// modeling_gptj.py: one norm feeds attention and MLP.
constexpr NamedPart kGptJParts[] = {
    {Part::kInputNorm, "ln_1"},    {Part::kKey, "attn.k_proj"},      {Part::kValue, "attn.v_proj"},
    {Part::kQuery, "attn.q_proj"}, {Part::kOutput, "attn.out_proj"}, {Part::kUp, "mlp.fc_in"},
    {Part::kDown, "mlp.fc_out"},
};

// modeling_codegen.py: GPT-J with a fused projection.
constexpr NamedPart kCodeGenParts[] = {
    {Part::kInputNorm, "ln_1"},       {Part::kQueryKeyValue, "attn.qkv_proj"},
    {Part::kOutput, "attn.out_proj"}, {Part::kUp, "mlp.fc_in"},
    {Part::kDown, "mlp.fc_out"},
};

constexpr NamedPart kGptNeoParts[] = {
    {Part::kInputNorm, "ln_1"},
    {Part::kKey, "attn.attention.k_proj"},
    {Part::kValue, "attn.attention.v_proj"},
    {Part::kQuery, "attn.attention.q_proj"},
    {Part::kOutput, "attn.attention.out_proj"},
    {Part::kPreMlpNorm, "ln_2"},
    {Part::kUp, "mlp.c_fc"},
    {Part::kDown, "mlp.c_proj"},
};

// modeling_qwen.py of the Qwen 1 repositories: w2 is gated by SiLU, w1 is not.
constexpr NamedPart kQwenParts[] = {
    {Part::kInputNorm, "ln_1"},     {Part::kQueryKeyValue, "attn.c_attn"},
    {Part::kOutput, "attn.c_proj"}, {Part::kPreMlpNorm, "ln_2"},
    {Part::kUp, "mlp.w1"},          {Part::kGate, "mlp.w2"},
    {Part::kDown, "mlp.c_proj"},
};

DecoderPlan PlanGpt2(ReadContext& context) {
  DecoderPlan plan = PlanDecoder(context, {.mlp_ratio = 4});
  plan.names = kNames;
  plan.layer.kind.norm = NormKind::kLayerNorm;
  plan.layer.norm_bias = true;
  plan.layer.mlp_bias = true;
  plan.layer.kind.mlp.kind = MlpKind::kPlain;
  plan.layer.kind.mlp.activation =
      ReadActivation(context.text, {"activation_function"}, Activation::kGeluNew);
  return plan;
}

void UseLearnedPositions(ReadContext& context, DecoderPlan* plan) {
  plan->positions = Positions::kLearned;
  plan->position_embedding = "wpe";
  plan->position_rows = context.text.SizeOr(kPositionKeys, context.spec.max_positions);
  plan->layer.kind.attention.rotary_dim = 0;
}

// attention_types of GPT-Neo: [[["global", "local"], 12]], each list repeated.
std::vector<std::int64_t> ReadGptNeoWindows(const ConfigView& config, std::int64_t layers) {
  std::vector<std::int64_t> windows;
  const std::int64_t window = config.CountOr({"window_size"}, 256);
  const Node* groups = config.Find({"attention_types"});
  const auto wanted = static_cast<std::size_t>(layers);
  if (groups != nullptr) {
    for (const Node& group : groups->items) {
      if (group.items.size() != 2 || group.items[1].kind != NodeKind::kInt) continue;
      for (std::int64_t i = 0; i < group.items[1].integer && windows.size() < wanted; ++i) {
        for (const Node& type : group.items[0].items) {
          windows.push_back(type.text == "local" ? window : 0);
        }
        if (group.items[0].items.empty()) break;
      }
    }
  }
  for (std::size_t l = windows.size(); l < wanted; ++l) windows.push_back(l % 2 == 1 ? window : 0);
  windows.resize(wanted);
  return windows;
}

}  // namespace

void BuildGpt2(ReadContext& context) {
  DecoderPlan plan = PlanGpt2(context);
  plan.layer.parts = kGpt2Parts;
  plan.layer.conv1d = true;
  plan.layer.SetAttentionBias(true, true);
  plan.dropout = context.text.NumberOr({"resid_pdrop"}, 0.1);
  UseLearnedPositions(context, &plan);
  FinishDecoder(context, std::move(plan));
}

void BuildGptBigCode(ReadContext& context) {
  DecoderPlan plan = PlanGpt2(context);
  plan.layer.parts = kGpt2Parts;
  plan.layer.SetAttentionBias(true, true);
  if (context.text.FlagOr({"multi_query"}, true)) plan.layer.kind.attention.kv_heads = 1;
  plan.layer.kind.mlp.activation =
      ReadActivation(context.text, {"activation_function"}, Activation::kGeluTanh);
  plan.dropout = context.text.NumberOr({"resid_pdrop"}, 0.1);
  UseLearnedPositions(context, &plan);
  FinishDecoder(context, std::move(plan));
}

void BuildGptJ(ReadContext& context) {
  DecoderPlan plan = PlanGpt2(context);
  plan.layer.parts = kGptJParts;
  plan.layer.kind.parallel = true;
  plan.layer.kind.attention.rotary_dim = context.text.CountOr({"rotary_dim"}, 64);
  plan.head_bias = true;
  FinishDecoder(context, std::move(plan));
}

void BuildCodeGen(ReadContext& context) {
  DecoderPlan plan = PlanGpt2(context);
  plan.layer.parts = kCodeGenParts;
  plan.layer.kind.parallel = true;
  plan.layer.kind.attention.rotary_dim = context.text.CountOr({"rotary_dim"}, 64);
  plan.head_bias = true;
  FinishDecoder(context, std::move(plan));
}

void BuildGptNeo(ReadContext& context) {
  DecoderPlan plan = PlanGpt2(context);
  plan.layer.parts = kGptNeoParts;
  plan.layer.SetAttentionBias(false, true);
  UseLearnedPositions(context, &plan);
  ApplyWindows(&plan, ReadGptNeoWindows(context.text, plan.sizes.layers));
  FinishDecoder(context, std::move(plan));
}

void BuildQwen1(ReadContext& context) {
  DecoderPlan plan = PlanDecoder(context);
  plan.names = kNames;
  plan.layer.parts = kQwenParts;
  plan.layer.SetAttentionBias(true, !context.text.FlagOr({"no_bias"}, true));
  // The file states the sum of both halves.
  context.text.RequireMultiple({"intermediate_size"}, plan.sizes.intermediate, 2,
                               "Qwen 1 states twice the width of its MLP");
  plan.layer.kind.mlp.intermediate = plan.sizes.intermediate / 2;
  FinishDecoder(context, std::move(plan));
}

}  // namespace trainfit::readers
