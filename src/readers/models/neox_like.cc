// Decoders with LayerNorm and a plain MLP: GPT-NeoX, BLOOM, Falcon, MPT, OPT, Phi, Nemotron.
#include <utility>

#include "readers/models/builders.h"
#include "readers/models/llama_like.h"

namespace trainfit::readers {
namespace {

using spec::Activation;
using spec::MlpKind;
using spec::NormKind;
using spec::Part;
using spec::Positions;

constexpr NamedPart kNeoxParts[] = {
    {Part::kInputNorm, "input_layernorm"},
    {Part::kPreMlpNorm, "post_attention_layernorm"},
    {Part::kQueryKeyValue, "attention.query_key_value"},
    {Part::kOutput, "attention.dense"},
    {Part::kUp, "mlp.dense_h_to_4h"},
    {Part::kDown, "mlp.dense_4h_to_h"},
};

constexpr NamedPart kBloomParts[] = {
    {Part::kInputNorm, "input_layernorm"},
    {Part::kQueryKeyValue, "self_attention.query_key_value"},
    {Part::kOutput, "self_attention.dense"},
    {Part::kPreMlpNorm, "post_attention_layernorm"},
    {Part::kUp, "mlp.dense_h_to_4h"},
    {Part::kDown, "mlp.dense_4h_to_h"},
};

// modeling_falcon.py: two norms side by side, one norm, or the sequential layer of Falcon-RW.
constexpr NamedPart kFalconTwoNormParts[] = {
    {Part::kQueryKeyValue, "self_attention.query_key_value"},
    {Part::kOutput, "self_attention.dense"},
    {Part::kUp, "mlp.dense_h_to_4h"},
    {Part::kDown, "mlp.dense_4h_to_h"},
    {Part::kInputNorm, "ln_attn"},
    {Part::kPreMlpNorm, "ln_mlp"},
};
constexpr NamedPart kFalconOneNormParts[] = {
    {Part::kQueryKeyValue, "self_attention.query_key_value"},
    {Part::kOutput, "self_attention.dense"},
    {Part::kUp, "mlp.dense_h_to_4h"},
    {Part::kDown, "mlp.dense_4h_to_h"},
    {Part::kInputNorm, "input_layernorm"},
};
constexpr NamedPart kFalconSequentialParts[] = {
    {Part::kQueryKeyValue, "self_attention.query_key_value"},
    {Part::kOutput, "self_attention.dense"},
    {Part::kUp, "mlp.dense_h_to_4h"},
    {Part::kDown, "mlp.dense_4h_to_h"},
    {Part::kPreMlpNorm, "post_attention_layernorm"},
    {Part::kInputNorm, "input_layernorm"},
};

constexpr NamedPart kMptParts[] = {
    {Part::kInputNorm, "norm_1"},     {Part::kQueryKeyValue, "attn.Wqkv"},
    {Part::kOutput, "attn.out_proj"}, {Part::kPreMlpNorm, "norm_2"},
    {Part::kUp, "ffn.up_proj"},       {Part::kDown, "ffn.down_proj"},
};

// modeling_opt.py; with do_layer_norm_before false (OPT-350m) the same norms stand behind.
constexpr NamedPart kOptParts[] = {
    {Part::kKey, "self_attn.k_proj"},
    {Part::kValue, "self_attn.v_proj"},
    {Part::kQuery, "self_attn.q_proj"},
    {Part::kOutput, "self_attn.out_proj"},
    {Part::kInputNorm, "self_attn_layer_norm"},
    {Part::kUp, "fc1"},
    {Part::kDown, "fc2"},
    {Part::kPreMlpNorm, "final_layer_norm"},
};
constexpr NamedPart kOptPostNormParts[] = {
    {Part::kKey, "self_attn.k_proj"},
    {Part::kValue, "self_attn.v_proj"},
    {Part::kQuery, "self_attn.q_proj"},
    {Part::kOutput, "self_attn.out_proj"},
    {Part::kPostAttentionNorm, "self_attn_layer_norm"},
    {Part::kUp, "fc1"},
    {Part::kDown, "fc2"},
    {Part::kPostMlpNorm, "final_layer_norm"},
};

constexpr NamedPart kPhiParts[] = {
    {Part::kQuery, "self_attn.q_proj"},
    {Part::kKey, "self_attn.k_proj"},
    {Part::kValue, "self_attn.v_proj"},
    {Part::kOutput, "self_attn.dense"},
    {Part::kQueryNorm, "self_attn.q_layernorm"},
    {Part::kKeyNorm, "self_attn.k_layernorm"},
    {Part::kUp, "mlp.fc1"},
    {Part::kDown, "mlp.fc2"},
    {Part::kInputNorm, "input_layernorm"},
};

constexpr NamedPart kNemotronParts[] = {
    {Part::kQuery, "self_attn.q_proj"},
    {Part::kKey, "self_attn.k_proj"},
    {Part::kValue, "self_attn.v_proj"},
    {Part::kOutput, "self_attn.o_proj"},
    {Part::kUp, "mlp.up_proj"},
    {Part::kDown, "mlp.down_proj"},
    {Part::kInputNorm, "input_layernorm"},
    {Part::kPreMlpNorm, "post_attention_layernorm"},
};

DecoderPlan PlanPlain(ReadContext& context, const SizeRules& rules, bool bias) {
  DecoderPlan plan = PlanDecoder(context, rules);
  plan.layer.kind.norm = NormKind::kLayerNorm;
  plan.layer.norm_bias = true;
  plan.layer.SetAttentionBias(bias, bias);
  plan.layer.mlp_bias = bias;
  plan.layer.kind.mlp.kind = MlpKind::kPlain;
  plan.layer.kind.mlp.activation =
      ReadActivation(context.text, {"hidden_act", "activation_function"}, Activation::kGelu);
  return plan;
}

void UseAlibi(DecoderPlan* plan) {
  plan->positions = Positions::kAlibi;
  plan->layer.kind.attention.rotary_dim = 0;
}

}  // namespace

void BuildGptNeox(ReadContext& context) {
  DecoderPlan plan = PlanPlain(context, {}, true);
  const bool bias = context.text.FlagOr({"attention_bias"}, true);
  plan.names = {.base = "gpt_neox.",
                .layers = "layers.{l}.",
                .token_embedding = "embed_in",
                .final_norm = "final_layer_norm",
                .head = "embed_out"};
  plan.layer.parts = kNeoxParts;
  plan.layer.SetAttentionBias(bias, bias);
  plan.layer.kind.parallel = context.text.FlagOr({"use_parallel_residual"}, true);
  FinishDecoder(context, std::move(plan));
}

void BuildBloom(ReadContext& context) {
  DecoderPlan plan = PlanPlain(context, {.mlp_ratio = 4}, true);
  plan.names = {.base = "transformer.",
                .layers = "h.{l}.",
                .token_embedding = "word_embeddings",
                .final_norm = "ln_f",
                .head = "lm_head"};
  plan.embedding_norm = "word_embeddings_layernorm";
  plan.layer.parts = kBloomParts;
  plan.layer.kind.mlp.intermediate = 4 * plan.sizes.hidden;  // BloomMLP reads no width
  plan.layer.kind.mlp.activation = Activation::kGeluTanh;    // BloomGelu
  UseAlibi(&plan);
  FinishDecoder(context, std::move(plan));
}

void BuildFalcon(ReadContext& context) {
  const ConfigView& config = context.text;
  DecoderPlan plan = PlanPlain(context, {.mlp_ratio = 4}, config.FlagOr({"bias"}, false));
  plan.names = {.base = "transformer.",
                .layers = "h.{l}.",
                .token_embedding = "word_embeddings",
                .final_norm = "ln_f",
                .head = "lm_head"};
  const bool new_architecture = config.FlagOr({"new_decoder_architecture"}, false);
  plan.layer.kind.parallel = config.FlagOr({"parallel_attn"}, true) || new_architecture;
  const std::int64_t norms = config.CountOr({"num_ln_in_parallel_attn"}, new_architecture ? 2 : 1);
  plan.layer.parts = !plan.layer.kind.parallel ? std::span<const NamedPart>(kFalconSequentialParts)
                     : norms == 2              ? std::span<const NamedPart>(kFalconTwoNormParts)
                                               : std::span<const NamedPart>(kFalconOneNormParts);
  if (!new_architecture) {
    const bool multi_query = config.FlagOr({"multi_query"}, true);
    plan.layer.kind.attention.kv_heads = multi_query ? 1 : plan.sizes.heads;
  }
  plan.layer.kind.mlp.activation = ReadActivation(config, {"activation"}, Activation::kGelu);
  if (config.FlagOr({"alibi"}, false)) UseAlibi(&plan);
  FinishDecoder(context, std::move(plan));
}

void BuildMpt(ReadContext& context) {
  const ConfigView& config = context.text;
  DecoderPlan plan = PlanPlain(context, {.mlp_ratio = 4}, false);
  plan.names = {.base = "transformer.",
                .layers = "blocks.{l}.",
                .token_embedding = "wte",
                .final_norm = "norm_f",
                .head = "lm_head"};
  plan.layer.parts = kMptParts;
  plan.layer.norm_bias = false;  // MptModel sets every norm's bias to None
  plan.layer.kind.mlp.intermediate = 4 * plan.sizes.hidden;  // MptMLP reads no width
  if (config.Section("attn_config").FlagOr({"alibi"}, true)) {
    UseAlibi(&plan);
  } else {
    plan.positions = Positions::kNone;
    plan.layer.kind.attention.rotary_dim = 0;
  }
  FinishDecoder(context, std::move(plan));
}

void BuildOpt(ReadContext& context) {
  const ConfigView& config = context.text;
  DecoderPlan plan = PlanPlain(context, {}, config.FlagOr({"enable_bias"}, true));
  plan.names = {.base = "model.decoder.",
                .layers = "layers.{l}.",
                .token_embedding = "embed_tokens",
                .final_norm = "final_layer_norm",
                .head = "lm_head"};
  const bool norm_before = config.FlagOr({"do_layer_norm_before"}, true);
  plan.layer.parts = norm_before ? std::span<const NamedPart>(kOptParts)
                                 : std::span<const NamedPart>(kOptPostNormParts);
  plan.layer.kind.pre_norms = norm_before;
  plan.layer.kind.post_norms = !norm_before;
  plan.layer.kind.norm_has_weight = config.FlagOr({"layer_norm_elementwise_affine"}, true);
  plan.has_final_norm = norm_before && !config.FlagOr({"_remove_final_layer_norm"}, false);
  plan.layer.kind.mlp.activation =
      ReadActivation(config, {"activation_function"}, Activation::kRelu);
  plan.dropout = config.NumberOr({"dropout"}, 0.1);
  plan.positions = Positions::kLearned;
  plan.layer.kind.attention.rotary_dim = 0;
  plan.position_embedding = "embed_positions";
  // OPTLearnedPositionalEmbedding: the first two rows are an offset.
  plan.position_rows = config.SizeOr({"max_position_embeddings"}, 2048) + 2;
  const std::int64_t width = config.SizeOr({"word_embed_proj_dim"}, plan.sizes.hidden);
  if (width != plan.sizes.hidden) {
    plan.embedding_width = width;
    plan.project_in = "project_in";
    plan.project_out = "project_out";
  }
  FinishDecoder(context, std::move(plan));
}

void BuildPhi(ReadContext& context) {
  DecoderPlan plan = PlanPlain(context, {.mlp_ratio = 4}, true);
  plan.names.final_norm = "final_layernorm";
  plan.layer.parts = kPhiParts;
  plan.layer.kind.parallel = true;
  plan.layer.qk_norm_kind = NormKind::kLayerNorm;
  plan.layer.kind.attention.qk_norm = context.text.FlagOr({"qk_layernorm"}, false);
  plan.layer.kind.mlp.activation =
      ReadActivation(context.text, {"hidden_act", "activation_function"}, Activation::kGeluNew);
  plan.head_bias = true;
  FinishDecoder(context, std::move(plan));
}

void BuildNemotron(ReadContext& context) {
  const ConfigView& config = context.text;
  DecoderPlan plan = PlanPlain(context, {}, false);
  const bool bias = config.FlagOr({"attention_bias"}, false);
  plan.layer.parts = kNemotronParts;
  plan.layer.SetAttentionBias(bias, bias);
  plan.layer.mlp_bias = config.FlagOr({"mlp_bias"}, false);
  plan.layer.kind.mlp.activation = ReadActivation(config, {"hidden_act"}, Activation::kRelu2);
  FinishDecoder(context, std::move(plan));
}

}  // namespace trainfit::readers
