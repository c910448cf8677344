// State-space models and their hybrids with attention: Mamba, Mamba-2, Jamba, Nemotron-H.
#include <fmt/format.h>

#include <tuple>
#include <utility>

#include "readers/models/builders.h"
#include "readers/models/experts.h"
#include "readers/models/state_space.h"

namespace trainfit::readers {
namespace {

using spec::Activation;
using spec::Attention;
using spec::AttentionKind;
using spec::MlpKind;
using spec::NormKind;
using spec::Part;
using spec::Positions;
using spec::TensorSpec;

constexpr NamedPart kMambaParts[] = {{Part::kInputNorm, "norm"}, {Part::kMixer, "mixer"}};

constexpr NamedPart kJambaParts[] = {
    {Part::kMixer, "mamba"},
    {Part::kQuery, "self_attn.q_proj"},
    {Part::kKey, "self_attn.k_proj"},
    {Part::kValue, "self_attn.v_proj"},
    {Part::kOutput, "self_attn.o_proj"},
    {Part::kGate, "feed_forward.gate_proj"},
    {Part::kUp, "feed_forward.up_proj"},
    {Part::kDown, "feed_forward.down_proj"},
    {Part::kRouter, "feed_forward.router"},
    {Part::kExpertGate, "feed_forward.experts.{e}.gate_proj"},
    {Part::kExpertUp, "feed_forward.experts.{e}.up_proj"},
    {Part::kExpertDown, "feed_forward.experts.{e}.down_proj"},
    {Part::kInputNorm, "input_layernorm"},
    {Part::kPreMlpNorm, "pre_ff_layernorm"},
};

// modeling_nemotron_h.py: one mixer a layer, of one of four kinds, and one norm.
constexpr NamedPart kNemotronHParts[] = {
    {Part::kInputNorm, "norm"},   {Part::kMixer, "mixer"},        {Part::kQuery, "mixer.q_proj"},
    {Part::kKey, "mixer.k_proj"}, {Part::kValue, "mixer.v_proj"}, {Part::kOutput, "mixer.o_proj"},
};
constexpr NamedPart kNemotronHMlpParts[] = {
    {Part::kPreMlpNorm, "norm"},
    {Part::kUp, "mixer.up_proj"},
    {Part::kDown, "mixer.down_proj"},
    {Part::kRouter, "mixer.gate"},
    {Part::kOther, "mixer.gate.e_score_correction_bias"},
    {Part::kExpertUp, "mixer.experts.{e}.up_proj"},
    {Part::kExpertDown, "mixer.experts.{e}.down_proj"},
    {Part::kSharedUp, "mixer.shared_experts.up_proj"},
    {Part::kSharedDown, "mixer.shared_experts.down_proj"},
};

struct Mamba1Shape {
  std::string_view module;
  std::int64_t hidden = 0;
  std::int64_t inner = 0;
  std::int64_t state = 0;
  std::int64_t conv = 0;
  std::int64_t rank = 0;
  bool conv_bias = true;
  bool bias = false;
  bool norms = false;  // Jamba's norms of dt, B and C
};

std::vector<TensorSpec> Mamba1Mixer(const Mamba1Shape& shape) {
  std::vector<TensorSpec> tensors;
  TensorList list(&tensors);
  const auto name = [&](std::string_view leaf) { return fmt::format("{}.{}", shape.module, leaf); };
  list.Parameter(name("A_log"), {shape.inner, shape.state}, Part::kMixer);
  list.Parameter(name("D"), {shape.inner}, Part::kMixer);
  list.Convolution(name("conv1d"), {shape.inner, 1, shape.conv}, shape.conv_bias, Part::kMixer);
  list.Linear(name("in_proj"), shape.hidden, 2 * shape.inner, Part::kMixer, shape.bias);
  list.Linear(name("x_proj"), shape.inner, shape.rank + 2 * shape.state, Part::kMixer);
  list.Linear(name("dt_proj"), shape.rank, shape.inner, Part::kMixer, true);
  list.Linear(name("out_proj"), shape.inner, shape.hidden, Part::kMixer, shape.bias);
  if (shape.norms) {
    list.Norm(name("dt_layernorm"), shape.rank, NormKind::kRms, false, Part::kMixer);
    list.Norm(name("b_layernorm"), shape.state, NormKind::kRms, false, Part::kMixer);
    list.Norm(name("c_layernorm"), shape.state, NormKind::kRms, false, Part::kMixer);
  }
  return tensors;
}

Attention Mamba1Attention(const Mamba1Shape& shape) {
  return {.kind = AttentionKind::kMamba1,
          .kv_heads = 0,
          .state_size = shape.state,
          .inner_size = shape.inner,
          .groups = 1,
          .conv_width = shape.conv};
}

// "auto" and absent: a sixteenth of the width, rounded up (configuration_mamba.py).
std::int64_t ReadStepRank(const ConfigView& config, std::string_view key, std::int64_t hidden) {
  const config::Node* node = config.Find({key});
  if (node == nullptr || node->kind == config::NodeKind::kString) return (hidden + 15) / 16;
  return config.SizeOr({key}, 1);
}

DecoderPlan PlanMamba(ReadContext& context) {
  DecoderPlan plan = PlanDecoder(context, {.has_mlp = false, .has_attention = false});
  plan.names = {.base = "backbone.",
                .layers = "layers.{l}.",
                .token_embedding = "embeddings",
                .final_norm = "norm_f",
                .head = "lm_head"};
  plan.positions = Positions::kNone;
  plan.layer.parts = kMambaParts;
  plan.layer.kind.mlp = {.kind = MlpKind::kNone};
  return plan;
}

Mamba2Shape ReadNemotronHMixer(const ConfigView& config, std::int64_t hidden) {
  const std::int64_t heads = config.SizeOr({"mamba_num_heads"}, 128);
  return {.hidden = hidden,
          .inner = Product(heads, config.SizeOr({"mamba_head_dim"}, 64)),
          .heads = heads,
          .groups = config.SizeOr({"n_groups", "mamba_n_groups"}, 8),
          .state = config.SizeOr({"ssm_state_size"}, 128),
          .conv = config.SizeOr({"conv_kernel"}, 4),
          .conv_bias = config.FlagOr({"use_conv_bias"}, true),
          .bias = config.FlagOr({"use_bias", "mamba_proj_bias"}, false)};
}

// What transformers 5 calls the letters of hybrid_override_pattern (configuration_nemotron_h.py).
char LetterOf(std::string_view block) {
  if (block == "mamba" || block == "linear_attention") return 'M';
  if (block == "attention" || block == "full_attention") return '*';
  if (block == "moe") return 'E';
  return block == "mlp" ? '-' : '?';
}

// One letter a layer, from hybrid_override_pattern or layers_block_type. Empty after a complaint.
std::string ReadPattern(const ConfigView& config, std::int64_t layers) {
  std::string pattern = config.TextOr({"hybrid_override_pattern"}, "");
  const config::Node* blocks = config.Find({"layers_block_type"});
  if (pattern.empty() && blocks != nullptr) {
    for (const config::Node& block : blocks->items) pattern += LetterOf(block.text);
  }
  if (std::cmp_not_equal(pattern.size(), layers)) {
    config.Reject({"hybrid_override_pattern", "layers_block_type"}, "wrong-length",
                  fmt::format("\"hybrid_override_pattern\" has {} letters for {} layers",
                              pattern.size(), layers));
    return "";
  }
  if (const std::size_t at = pattern.find_first_not_of("M-*E"); at != std::string::npos) {
    config.Reject({"hybrid_override_pattern"}, "unknown-letter",
                  fmt::format("layer {} of \"hybrid_override_pattern\" is none of M (Mamba-2), "
                              "- (MLP), * (attention), E (experts)",
                              at));
    return "";
  }
  return pattern;
}

}  // namespace

void BuildMamba(ReadContext& context) {
  const ConfigView& config = context.text;
  DecoderPlan plan = PlanMamba(context);
  const std::int64_t hidden = plan.sizes.hidden;
  const Mamba1Shape shape = {
      .module = "mixer",
      .hidden = hidden,
      .inner = config.SizeOr({"intermediate_size"}, config.SizeOr({"expand"}, 2) * hidden),
      .state = config.SizeOr({"state_size"}, 16),
      .conv = config.SizeOr({"conv_kernel"}, 4),
      .rank = ReadStepRank(config, "time_step_rank", hidden),
      .conv_bias = config.FlagOr({"use_conv_bias"}, true),
      .bias = config.FlagOr({"use_bias"}, false)};
  plan.layer.kind.attention = Mamba1Attention(shape);
  plan.layer.mixer = Mamba1Mixer(shape);
  FinishDecoder(context, std::move(plan));
}

void BuildMamba2(ReadContext& context) {
  const ConfigView& config = context.text;
  DecoderPlan plan = PlanMamba(context);
  const std::int64_t hidden = plan.sizes.hidden;
  const Mamba2Shape shape = {.hidden = hidden,
                             .inner = config.SizeOr({"expand"}, 2) * hidden,
                             .heads = config.SizeOr({"num_heads"}, 128),
                             .groups = config.SizeOr({"n_groups"}, 8),
                             .state = config.SizeOr({"state_size"}, 128),
                             .conv = config.SizeOr({"conv_kernel"}, 4),
                             .conv_bias = config.FlagOr({"use_conv_bias"}, true),
                             .bias = config.FlagOr({"use_bias"}, false)};
  // Mamba2Config refuses heads × head_dim other than expand × hidden.
  const std::int64_t heads_width = Product(shape.heads, config.SizeOr({"head_dim"}, 64));
  if (heads_width != shape.inner) {
    config.Reject({"num_heads", "head_dim"}, "not-a-multiple",
                  fmt::format("heads × head_dim is {}, expand × hidden is {}: they must be equal",
                              heads_width, shape.inner));
  }
  plan.layer.kind.attention = Mamba2Attention(shape);
  plan.layer.mixer = Mamba2Mixer(shape);
  FinishDecoder(context, std::move(plan));
}

void BuildJamba(ReadContext& context) {
  const ConfigView& config = context.text;
  DecoderPlan plan = PlanDecoder(context);
  const std::int64_t hidden = plan.sizes.hidden;
  plan.names.final_norm = "final_layernorm";
  plan.positions = Positions::kNone;
  plan.layer.kind.attention.rotary_dim = 0;
  plan.layer.parts = kJambaParts;
  const Mamba1Shape shape = {.module = "mamba",
                             .hidden = hidden,
                             .inner = config.SizeOr({"mamba_expand"}, 2) * hidden,
                             .state = config.SizeOr({"mamba_d_state"}, 16),
                             .conv = config.SizeOr({"mamba_d_conv"}, 4),
                             .rank = ReadStepRank(config, "mamba_dt_rank", hidden),
                             .conv_bias = config.FlagOr({"mamba_conv_bias"}, true),
                             .bias = config.FlagOr({"mamba_proj_bias"}, false),
                             .norms = true};
  const ExpertSizes experts =
      ReadExperts(config, {.experts = 16, .per_token = 2, .width = plan.sizes.intermediate});
  const std::int64_t expert_period = config.SizeOr({"expert_layer_period"}, 2);
  const std::int64_t expert_offset = config.CountOr({"expert_layer_offset"}, 1);
  const std::int64_t attention_period = config.SizeOr({"attn_layer_period"}, 8);
  const std::int64_t attention_offset = config.CountOr({"attn_layer_offset"}, 4);
  const auto key = [&](std::int64_t l) {
    const bool sparse = experts.experts > 1 && l % expert_period == expert_offset;
    return std::pair<bool, bool>(sparse, l % attention_period == attention_offset);
  };
  plan.Vary(key, [&](std::int64_t l) {
    LayerPlan layer = key(l).first ? WithExperts(plan.layer, experts, kJambaParts) : plan.layer;
    if (!key(l).second) {
      layer.kind.attention = Mamba1Attention(shape);
      layer.mixer = Mamba1Mixer(shape);
    }
    return layer;
  });
  FinishDecoder(context, std::move(plan));
}

void BuildNemotronH(ReadContext& context) {
  const ConfigView& config = context.text;
  DecoderPlan plan = PlanDecoder(context, {.mlp_ratio = 4, .heads_divide = false});
  const std::string pattern = ReadPattern(config, plan.sizes.layers);
  if (pattern.empty()) return;
  plan.names = {.base = "backbone.",
                .layers = "layers.{l}.",
                .token_embedding = "embeddings",
                .final_norm = "norm_f",
                .head = "lm_head"};
  plan.positions = Positions::kNone;
  const Mamba2Shape shape = ReadNemotronHMixer(config, plan.sizes.hidden);
  ExpertSizes experts;
  if (pattern.find('E') != std::string::npos) {
    experts = ReadExperts(config, {.experts = 8, .per_token = 2, .width = 7688});
    experts.shared_width = config.CountOr({"moe_shared_expert_intermediate_size"}, 7688);
    if (config.Has("moe_latent_size")) {
      context.spec.not_simulated = "experts on a latent (counted without its projections)";
      config.Warn({"moe_latent_size"}, "not-counted",
                  "experts that work on a latent are not read; parameters will be off");
    }
  }
  const bool bias = config.FlagOr({"attention_bias"}, false);
  plan.layer.SetAttentionBias(bias, bias);
  plan.layer.mlp_bias = config.FlagOr({"mlp_bias"}, false);
  plan.layer.parts = kNemotronHParts;
  plan.layer.kind.attention.rotary_dim = 0;
  plan.layer.kind.mlp.expert_gated = false;
  plan.layer.kind.mlp.activation = ReadActivation(config, {"mlp_hidden_act"}, Activation::kRelu2);
  const auto key = [&](std::int64_t l) { return pattern[static_cast<std::size_t>(l)]; };
  plan.Vary(key, [&](std::int64_t l) {
    LayerPlan layer = plan.layer;
    if (key(l) == 'E') layer = WithExperts(layer, experts, kNemotronHMlpParts);
    if (key(l) == '-') {
      layer.kind.mlp.kind = MlpKind::kPlain;
      layer.parts = kNemotronHMlpParts;
    }
    if (key(l) == 'E' || key(l) == '-') {
      layer.kind.attention = {.kind = AttentionKind::kNone};
      return layer;
    }
    layer.kind.mlp = {.kind = MlpKind::kNone};
    if (key(l) == 'M') {
      layer.kind.attention = Mamba2Attention(shape);
      layer.mixer = Mamba2Mixer(shape);
    }
    return layer;
  });
  FinishDecoder(context, std::move(plan));
}

}  // namespace trainfit::readers
