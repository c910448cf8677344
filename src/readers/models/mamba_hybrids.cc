// Mamba-2 beside attention: Bamba, Falcon-H1, Granite 4, Zamba2.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "readers/models/builders.h"
#include "readers/models/experts.h"
#include "readers/models/llama_like.h"
#include "readers/models/state_space.h"

namespace trainfit::readers {
namespace {

using spec::MlpKind;
using spec::NormKind;
using spec::Part;
using spec::TensorSpec;

// modeling_bamba.py, modeling_falcon_h1.py.
constexpr NamedPart kBambaParts[] = {
    {Part::kGate, "feed_forward.gate_proj"}, {Part::kUp, "feed_forward.up_proj"},
    {Part::kDown, "feed_forward.down_proj"}, {Part::kMixer, "mamba"},
    {Part::kQuery, "self_attn.q_proj"},      {Part::kKey, "self_attn.k_proj"},
    {Part::kValue, "self_attn.v_proj"},      {Part::kOutput, "self_attn.o_proj"},
    {Part::kInputNorm, "input_layernorm"},   {Part::kPreMlpNorm, "pre_ff_layernorm"},
};

// modeling_granitemoehybrid.py, modeling_granitemoeshared.py: an MLP beside the experts, gate and
// up in one matrix; without experts that MLP is all there is.
constexpr NamedPart kGraniteParts[] = {
    {Part::kQuery, "self_attn.q_proj"},
    {Part::kKey, "self_attn.k_proj"},
    {Part::kValue, "self_attn.v_proj"},
    {Part::kOutput, "self_attn.o_proj"},
    {Part::kMixer, "mamba"},
    {Part::kRouter, "block_sparse_moe.router.layer"},
    {Part::kExpertGateUp, "block_sparse_moe.input_linear.weight"},
    {Part::kExpertDown, "block_sparse_moe.output_linear.weight"},
    {Part::kGateUp, "shared_mlp.input_linear"},
    {Part::kDown, "shared_mlp.output_linear"},
    {Part::kInputNorm, "input_layernorm"},
    {Part::kPreMlpNorm, "post_attention_layernorm"},
};

// modeling_zamba2.py: what the hybrid layers have around the block that they share.
constexpr NamedPart kZambaParts[] = {{Part::kMixer, "mamba"},
                                     {Part::kInputNorm, "input_layernorm"}};
constexpr NamedPart kZambaHybridParts[] = {{Part::kMixer, "mamba_decoder"}};

// Bamba's keys; FalconH1Config adds mamba_d_ssm, a width of its own.
Mamba2Shape ReadMamba(const ConfigView& config, std::int64_t hidden) {
  const std::int64_t wide = Product(config.SizeOr({"mamba_expand"}, 2), hidden);
  return {.module = "mamba",
          .hidden = hidden,
          .inner = config.SizeOr({"mamba_d_ssm"}, wide),
          .heads = config.SizeOr({"mamba_n_heads"}, 128),
          .groups = config.SizeOr({"mamba_n_groups"}, 1),
          .state = config.SizeOr({"mamba_d_state"}, 256),
          .conv = config.SizeOr({"mamba_d_conv"}, 4),
          .conv_bias = config.FlagOr({"mamba_conv_bias"}, true),
          .bias = config.FlagOr({"mamba_proj_bias"}, false)};
}

void SetBiases(const ConfigView& config, LayerPlan* layer) {
  const bool bias = config.FlagOr({"attention_bias"}, false);
  layer->SetAttentionBias(bias, bias);
  layer->mlp_bias = config.FlagOr({"mlp_bias"}, false);
}

LayerPlan WithMamba(LayerPlan layer, const Mamba2Shape& shape) {
  layer.kind.attention = Mamba2Attention(shape);
  layer.mixer = Mamba2Mixer(shape);
  return layer;
}

// attn_layer_indices: the layers with attention; none when it is null.
std::vector<bool> ReadAttentionIndices(const ConfigView& config, std::int64_t layers) {
  std::vector<bool> attends(static_cast<std::size_t>(layers));
  const config::Node* list = config.Find({"attn_layer_indices"});
  if (list == nullptr) return ReadLayerTypes(config, {"attention", "full_attention"}, attends);
  for (const config::Node& layer : list->items) {
    const bool is_layer = layer.kind == config::NodeKind::kInt && layer.integer >= 0;
    if (is_layer && layer.integer < layers) attends[static_cast<std::size_t>(layer.integer)] = true;
  }
  return attends;
}

void BuildGraniteHybrid(ReadContext& context, std::vector<bool> attends, std::int64_t shared) {
  const ConfigView& config = context.text;
  DecoderPlan plan = PlanDecoder(context);
  SetBiases(config, &plan.layer);
  plan.layer.mlp_bias = false;
  plan.layer.parts = kGraniteParts;
  if (config.TextOr({"position_embedding_type"}, "rope") != "rope") {
    plan.positions = spec::Positions::kNone;
    plan.layer.kind.attention.rotary_dim = 0;
  }
  if (config.CountOr({"num_local_experts"}, 8) > 0) {
    const ExpertSizes experts =
        ReadExperts(config, {.experts = 8, .per_token = 2, .width = plan.sizes.intermediate});
    plan.layer = WithExperts(plan.layer, experts, kGraniteParts);
    plan.layer.fused_experts = true;
    plan.layer.dense_width = shared;
    if (shared > 0) context.spec.not_simulated = "an MLP beside routed experts";
  } else {
    plan.layer.kind.mlp.intermediate = shared;
  }
  const LayerPlan mamba = WithMamba(plan.layer, ReadMamba(config, plan.sizes.hidden));
  attends.resize(static_cast<std::size_t>(plan.sizes.layers), true);
  ApplySparsity(&plan, attends, mamba, plan.layer);
  FinishDecoder(context, std::move(plan));
}

struct ZambaShape {
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t intermediate = 0;
  std::int64_t blocks = 1;  // different shared blocks, used in turn
  std::int64_t uses = 0;    // hybrid layers
  std::int64_t rank = 0;    // of the low-rank additions that each use has for itself
  bool adapts_attention = false;
};

// The block that hybrid layers share, as the first layer that uses it stores it.
void AddSharedBlock(const ZambaShape& shape, std::int64_t block, std::vector<TensorSpec>* tensors) {
  TensorList list(tensors);
  const auto name = [](std::string_view leaf) {
    return fmt::format("shared_transformer.{}", leaf);
  };
  // Reads the layer's input beside the embedding: twice the width.
  const std::int64_t wide = 2 * shape.hidden;
  const std::int64_t head_dim = wide / shape.heads;
  const std::int64_t queries = Product(shape.heads, head_dim);
  const std::int64_t keys = Product(shape.kv_heads, head_dim);
  list.Linear(name("self_attn.q_proj"), wide, queries, Part::kMixer);
  list.Linear(name("self_attn.k_proj"), wide, keys, Part::kMixer);
  list.Linear(name("self_attn.v_proj"), wide, keys, Part::kMixer);
  list.Linear(name("self_attn.o_proj"), queries, shape.hidden, Part::kMixer);
  const auto add_pair = [&](const std::string& module, std::int64_t in, std::int64_t out) {
    list.Linear(module + ".0", in, shape.rank, Part::kMixer);
    list.Linear(module + ".1", shape.rank, out, Part::kMixer);
  };
  for (std::int64_t use = block; shape.adapts_attention && use < shape.uses; use += shape.blocks) {
    for (const char* which : {"q", "k", "v"}) {
      add_pair(name(fmt::format("self_attn.linear_{}_adapter_list.{}", which, use)), wide, wide);
    }
  }
  list.Linear(name("feed_forward.gate_up_proj"), shape.hidden, 2 * shape.intermediate,
              Part::kMixer);
  list.Linear(name("feed_forward.down_proj"), shape.intermediate, shape.hidden, Part::kMixer);
  for (std::int64_t use = block; use < shape.uses; use += shape.blocks) {
    add_pair(name(fmt::format("feed_forward.gate_up_proj_adapter_list.{}", use)), shape.hidden,
             2 * shape.intermediate);
  }
  list.Norm(name("input_layernorm"), wide, NormKind::kRms, false, Part::kMixer);
  list.Norm(name("pre_ff_layernorm"), shape.hidden, NormKind::kRms, false, Part::kMixer);
}

// Zamba2Config: after the first layer seven times five Mamba layers and a hybrid one, and so on.
std::vector<bool> ReadZambaHybrids(const ConfigView& config, std::int64_t layers) {
  std::vector<bool> hybrid(static_cast<std::size_t>(layers));
  for (const std::size_t l : {6U, 12U, 18U, 24U, 30U, 36U, 42U, 47U, 51U}) {
    if (l < hybrid.size()) hybrid[l] = true;
  }
  return ReadLayerTypes(config, {"hybrid"}, hybrid);
}

}  // namespace

void BuildBamba(ReadContext& context) {
  const ConfigView& config = context.text;
  DecoderPlan plan = PlanDecoder(context);
  plan.names.final_norm = "final_layernorm";
  SetBiases(config, &plan.layer);
  plan.layer.parts = kBambaParts;
  const LayerPlan mamba = WithMamba(plan.layer, ReadMamba(config, plan.sizes.hidden));
  ApplySparsity(&plan, ReadAttentionIndices(config, plan.sizes.layers), mamba, plan.layer);
  FinishDecoder(context, std::move(plan));
}

void BuildFalconH1(ReadContext& context) {
  const ConfigView& config = context.text;
  DecoderPlan plan = PlanDecoder(context);
  plan.names.final_norm = "final_layernorm";
  SetBiases(config, &plan.layer);
  plan.layer.parts = kBambaParts;
  Mamba2Shape shape = ReadMamba(config, plan.sizes.hidden);
  // FalconH1Config: 1024 when the key is absent, expand × width when it is null.
  if (!config.Has("mamba_d_ssm") && !config.IsNull("mamba_d_ssm")) shape.inner = 1024;
  shape.norm = config.FlagOr({"mamba_rms_norm"}, false);
  plan.layer.mixer = Mamba2Mixer(shape);
  context.spec.not_simulated = "attention and a state space side by side in one layer";
  FinishDecoder(context, std::move(plan));
}

void BuildGraniteMoeHybrid(ReadContext& context) {
  const ConfigView& config = context.text;
  const std::int64_t layers = config.SizeOr(kLayerKeys, 32);
  const std::vector<bool> none(static_cast<std::size_t>(std::min(layers, kMaxLayers)));
  BuildGraniteHybrid(context, ReadLayerTypes(config, {"attention", "full_attention"}, none),
                     config.CountOr({"shared_intermediate_size"}, 1024));
}

void BuildGraniteMoeShared(ReadContext& context) {
  BuildGraniteHybrid(context, {}, context.text.CountOr({"shared_intermediate_size"}, 0));
}

void BuildZamba2(ReadContext& context) {
  const ConfigView& config = context.text;
  DecoderPlan plan = PlanDecoder(context, {.mlp_ratio = 4, .heads_divide = false});
  plan.names.final_norm = "final_layernorm";
  const std::int64_t hidden = plan.sizes.hidden;
  const bool bias = config.FlagOr({"add_bias_linear"}, false);
  Mamba2Shape shape = {.module = "mamba",
                       .hidden = hidden,
                       .inner = Product(config.SizeOr({"mamba_expand"}, 2), hidden),
                       .heads = config.SizeOr({"n_mamba_heads"}, 8),
                       .groups = config.SizeOr({"mamba_ngroups"}, 1),
                       .state = config.SizeOr({"mamba_d_state"}, 64),
                       .conv = config.SizeOr({"mamba_d_conv"}, 4),
                       .conv_bias = config.FlagOr({"use_conv_bias"}, true),
                       .bias = bias};
  const std::vector<bool> hybrid = ReadZambaHybrids(config, plan.sizes.layers);
  const ZambaShape zamba = {
      .hidden = hidden,
      .heads = plan.sizes.heads,
      .kv_heads = plan.sizes.kv_heads,
      .intermediate = plan.sizes.intermediate,
      .blocks = config.SizeOr({"num_mem_blocks"}, 1),
      .uses = std::count(hybrid.begin(), hybrid.end(), true),
      .rank = config.SizeOr({"adapter_rank"}, 128),
      .adapts_attention = config.FlagOr({"use_shared_attention_adapter"}, false)};
  plan.layer.parts = kZambaParts;
  plan.layer.kind.mlp = {.kind = MlpKind::kNone};
  // 0: a Mamba layer; 1: a hybrid one whose block an earlier layer stores; 2, 3, …: the first
  // users.
  std::vector<std::int64_t> kinds;
  std::int64_t use = 0;
  for (const bool is_hybrid : hybrid) {
    kinds.push_back(!is_hybrid ? 0 : use < zamba.blocks ? 2 + use : 1);
    if (is_hybrid) ++use;
  }
  const auto key = [&](std::int64_t l) { return kinds[static_cast<std::size_t>(l)]; };
  plan.Vary(key, [&](std::int64_t l) {
    if (key(l) == 0) return WithMamba(plan.layer, shape);
    Mamba2Shape inside = shape;
    inside.module = "mamba_decoder.mamba";
    LayerPlan layer = plan.layer;
    layer.parts = kZambaHybridParts;
    layer.kind.attention = Mamba2Attention(shape);
    TensorList(&layer.mixer).Linear("linear", hidden, hidden, Part::kMixer);
    for (TensorSpec& tensor : Mamba2Mixer(inside)) layer.mixer.push_back(std::move(tensor));
    TensorList(&layer.mixer)
        .Norm("mamba_decoder.input_layernorm", hidden, NormKind::kRms, false, Part::kInputNorm);
    if (key(l) > 1) AddSharedBlock(zamba, key(l) - 2, &layer.mixer);
    return layer;
  });
  context.spec.not_simulated = "a block that several layers share";
  FinishDecoder(context, std::move(plan));
}

}  // namespace trainfit::readers
