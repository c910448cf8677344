// Linear attention: the gated delta rule of Qwen3-Next and Qwen3.5, and RWKV-4.
#include <utility>

#include "readers/models/builders.h"
#include "readers/models/experts.h"

namespace trainfit::readers {
namespace {

using spec::Attention;
using spec::AttentionKind;
using spec::MlpKind;
using spec::NormKind;
using spec::Part;
using spec::Positions;
using spec::TensorSpec;

// modeling_qwen3_next.py, modeling_qwen3_5.py.
constexpr NamedPart kHybridParts[] = {
    {Part::kMixer, "linear_attn"},
    {Part::kQuery, "self_attn.q_proj"},
    {Part::kKey, "self_attn.k_proj"},
    {Part::kValue, "self_attn.v_proj"},
    {Part::kOutput, "self_attn.o_proj"},
    {Part::kQueryNorm, "self_attn.q_norm"},
    {Part::kKeyNorm, "self_attn.k_norm"},
    {Part::kGate, "mlp.gate_proj"},
    {Part::kUp, "mlp.up_proj"},
    {Part::kDown, "mlp.down_proj"},
    {Part::kRouter, "mlp.gate"},
    {Part::kExpertGate, "mlp.experts.{e}.gate_proj"},
    {Part::kExpertUp, "mlp.experts.{e}.up_proj"},
    {Part::kExpertDown, "mlp.experts.{e}.down_proj"},
    {Part::kSharedGate, "mlp.shared_expert.gate_proj"},
    {Part::kSharedUp, "mlp.shared_expert.up_proj"},
    {Part::kSharedDown, "mlp.shared_expert.down_proj"},
    {Part::kSharedRouterGate, "mlp.shared_expert_gate"},
    {Part::kInputNorm, "input_layernorm"},
    {Part::kPreMlpNorm, "post_attention_layernorm"},
};

constexpr NamedPart kRwkvParts[] = {
    {Part::kInputNorm, "ln1"}, {Part::kPreMlpNorm, "ln2"}, {Part::kMixer, "attention"}};
// The first block normalizes the embedding.
constexpr NamedPart kRwkvFirstParts[] = {{Part::kEmbeddingNorm, "pre_ln"},
                                         {Part::kInputNorm, "ln1"},
                                         {Part::kPreMlpNorm, "ln2"},
                                         {Part::kMixer, "attention"}};

struct DeltaShape {
  std::int64_t hidden = 0;
  std::int64_t key_heads = 0;
  std::int64_t value_heads = 0;
  std::int64_t key_dim = 0;    // of one head
  std::int64_t value_dim = 0;  // of one head
  std::int64_t conv = 0;
};

DeltaShape ReadDelta(const ConfigView& config, std::int64_t hidden) {
  DeltaShape shape = {.hidden = hidden,
                      .key_heads = config.SizeOr({"linear_num_key_heads"}, 16),
                      .value_heads = config.SizeOr({"linear_num_value_heads"}, 32),
                      .key_dim = config.SizeOr({"linear_key_head_dim"}, 128),
                      .value_dim = config.SizeOr({"linear_value_head_dim"}, 128),
                      .conv = config.SizeOr({"linear_conv_kernel_dim"}, 4)};
  config.RequireMultiple({"linear_num_value_heads"}, shape.value_heads, shape.key_heads,
                         "value heads must be a multiple of the key heads");
  return shape;
}

// `split`: Qwen3.5 stores the four input projections one by one, Qwen3-Next in two.
std::vector<TensorSpec> DeltaMixer(const DeltaShape& shape, bool split) {
  std::vector<TensorSpec> tensors;
  TensorList list(&tensors);
  const std::int64_t keys = shape.key_heads * shape.key_dim;
  const std::int64_t values = shape.value_heads * shape.value_dim;
  const std::int64_t conv_width = 2 * keys + values;
  const auto add_norm_and_output = [&] {
    list.Norm("linear_attn.norm", shape.value_dim, NormKind::kRms, false, Part::kMixer);
    list.Linear("linear_attn.out_proj", values, shape.hidden, Part::kMixer);
  };
  list.Parameter("linear_attn.dt_bias", {shape.value_heads}, Part::kMixer);
  list.Parameter("linear_attn.A_log", {shape.value_heads}, Part::kMixer);
  list.Convolution("linear_attn.conv1d", {conv_width, 1, shape.conv}, false, Part::kMixer);
  if (split) {
    add_norm_and_output();
    list.Linear("linear_attn.in_proj_qkv", shape.hidden, conv_width, Part::kMixer);
    list.Linear("linear_attn.in_proj_z", shape.hidden, values, Part::kMixer);
    list.Linear("linear_attn.in_proj_b", shape.hidden, shape.value_heads, Part::kMixer);
    list.Linear("linear_attn.in_proj_a", shape.hidden, shape.value_heads, Part::kMixer);
    return tensors;
  }
  list.Linear("linear_attn.in_proj_qkvz", shape.hidden, conv_width + values, Part::kMixer);
  list.Linear("linear_attn.in_proj_ba", shape.hidden, 2 * shape.value_heads, Part::kMixer);
  add_norm_and_output();
  return tensors;
}

// layer_types, or every full_attention_interval-th layer.
std::vector<bool> ReadFullAttention(const ConfigView& config, std::int64_t layers) {
  std::vector<bool> full(static_cast<std::size_t>(layers));
  const auto interval = static_cast<std::size_t>(config.SizeOr({"full_attention_interval"}, 4));
  for (std::size_t l = 0; l < full.size(); ++l) full[l] = (l + 1) % interval == 0;
  return ReadLayerTypes(config, {"full_attention"}, full);
}

void FinishHybrid(ReadContext& context, DecoderPlan plan, const std::vector<bool>& sparse,
                  const ExpertSizes& experts, bool split) {
  const ConfigView& config = context.text;
  const bool bias = config.FlagOr({"attention_bias"}, false);
  plan.layer.SetAttentionBias(bias, bias);
  plan.layer.parts = kHybridParts;
  Attention& attention = plan.layer.kind.attention;
  attention.qk_norm = true;
  attention.output_gate = config.FlagOr({"attn_output_gate"}, true);
  const DeltaShape shape = ReadDelta(config, plan.sizes.hidden);
  const std::vector<bool> full = ReadFullAttention(config, plan.sizes.layers);
  const auto key = [&](std::int64_t l) {
    const auto i = static_cast<std::size_t>(l);
    return std::pair<bool, bool>(sparse[i], full[i]);
  };
  plan.Vary(key, [&](std::int64_t l) {
    LayerPlan layer = key(l).first ? WithExperts(plan.layer, experts, kHybridParts) : plan.layer;
    if (!key(l).second) {
      layer.kind.attention = {.kind = AttentionKind::kGatedDelta,
                              .heads = shape.value_heads,
                              .kv_heads = shape.key_heads,
                              .head_dim = shape.key_dim,
                              .value_head_dim = shape.value_dim,
                              .inner_size = shape.value_heads * shape.value_dim,
                              .conv_width = shape.conv};
      layer.mixer = DeltaMixer(shape, split);
    }
    return layer;
  });
  FinishDecoder(context, std::move(plan));
}

std::vector<TensorSpec> RwkvMixer(std::int64_t hidden, std::int64_t inner, std::int64_t wide) {
  std::vector<TensorSpec> tensors;
  TensorList list(&tensors);
  list.Parameter("attention.time_decay", {inner}, Part::kMixer);
  list.Parameter("attention.time_first", {inner}, Part::kMixer);
  list.Parameter("attention.time_mix_key", {1, 1, hidden}, Part::kMixer);
  list.Parameter("attention.time_mix_value", {1, 1, hidden}, Part::kMixer);
  list.Parameter("attention.time_mix_receptance", {1, 1, hidden}, Part::kMixer);
  list.Linear("attention.key", hidden, inner, Part::kMixer);
  list.Linear("attention.value", hidden, inner, Part::kMixer);
  list.Linear("attention.receptance", hidden, inner, Part::kMixer);
  list.Linear("attention.output", inner, hidden, Part::kMixer);
  list.Parameter("feed_forward.time_mix_key", {1, 1, hidden}, Part::kMixer);
  list.Parameter("feed_forward.time_mix_receptance", {1, 1, hidden}, Part::kMixer);
  list.Linear("feed_forward.key", hidden, wide, Part::kMixer);
  list.Linear("feed_forward.receptance", hidden, hidden, Part::kMixer);
  list.Linear("feed_forward.value", wide, hidden, Part::kMixer);
  return tensors;
}

}  // namespace

void BuildQwen3Next(ReadContext& context) {
  DecoderPlan plan = PlanDecoder(context);
  ExpertSizes experts = ReadExperts(context.text, {.experts = 512, .per_token = 10, .width = 512});
  experts.shared_width = context.text.SizeOr({"shared_expert_intermediate_size"}, 512);
  const std::vector<bool> sparse = ReadSparseSteps(context.text, plan.sizes.layers);
  FinishHybrid(context, std::move(plan), sparse, experts, false);
}

void BuildQwen35Text(ReadContext& context) {
  DecoderPlan plan = PlanDecoder(context);
  const std::vector<bool> sparse(static_cast<std::size_t>(plan.sizes.layers), false);
  FinishHybrid(context, std::move(plan), sparse, {}, true);
}

void BuildQwen35MoeText(ReadContext& context) {
  DecoderPlan plan = PlanDecoder(context, {.has_mlp = false});
  ExpertSizes experts = ReadExperts(context.text, {.experts = 256, .per_token = 8, .width = 512});
  experts.shared_width = context.text.SizeOr({"shared_expert_intermediate_size"}, 512);
  const std::vector<bool> sparse(static_cast<std::size_t>(plan.sizes.layers), true);
  FinishHybrid(context, std::move(plan), sparse, experts, true);
}

void BuildRwkv(ReadContext& context) {
  const ConfigView& config = context.text;
  DecoderPlan plan = PlanDecoder(context, {.mlp_ratio = 4, .has_attention = false});
  plan.names = {.base = "rwkv.",
                .layers = "blocks.{l}.",
                .token_embedding = "embeddings",
                .final_norm = "ln_out",
                .head = "head"};
  const std::int64_t inner = config.SizeOr({"attention_hidden_size"}, plan.sizes.hidden);
  plan.positions = Positions::kNone;
  plan.layer.kind.norm = NormKind::kLayerNorm;
  plan.layer.norm_bias = true;
  plan.layer.kind.attention = {.kind = AttentionKind::kRwkv, .inner_size = inner};
  plan.layer.kind.mlp = {.kind = MlpKind::kPlain,
                         .activation = spec::Activation::kRelu2,
                         .intermediate = plan.sizes.intermediate};
  plan.layer.mixer = RwkvMixer(plan.sizes.hidden, inner, plan.sizes.intermediate);
  const auto is_first = [](std::int64_t l) { return l == 0; };
  plan.Vary(is_first, [&](std::int64_t l) {
    LayerPlan layer = plan.layer;
    layer.parts = is_first(l) ? std::span<const NamedPart>(kRwkvFirstParts)
                              : std::span<const NamedPart>(kRwkvParts);
    return layer;
  });
  context.spec.max_positions = config.CountOr({"context_length"}, 1024);
  FinishDecoder(context, std::move(plan));
}

}  // namespace trainfit::readers
