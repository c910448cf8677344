// Llama's layer with a fused query/key/value projection under other names: ChatGLM, InternLM2,
// Baichuan.
#include <utility>

#include "readers/models/builders.h"

namespace trainfit::readers {
namespace {

using spec::Part;
using spec::Positions;

// modeling_chatglm.py of the ChatGLM2/3 and GLM-4 9B repositories.
constexpr NamedPart kChatGlmParts[] = {
    {Part::kInputNorm, "input_layernorm"},
    {Part::kQueryKeyValue, "self_attention.query_key_value"},
    {Part::kOutput, "self_attention.dense"},
    {Part::kPreMlpNorm, "post_attention_layernorm"},
    {Part::kGateUp, "mlp.dense_h_to_4h"},
    {Part::kDown, "mlp.dense_4h_to_h"},
};

// modeling_internlm2.py: w1 gate, w3 up, w2 down.
constexpr NamedPart kInternLm2Parts[] = {
    {Part::kQueryKeyValue, "attention.wqkv"}, {Part::kOutput, "attention.wo"},
    {Part::kGate, "feed_forward.w1"},         {Part::kUp, "feed_forward.w3"},
    {Part::kDown, "feed_forward.w2"},         {Part::kInputNorm, "attention_norm"},
    {Part::kPreMlpNorm, "ffn_norm"},
};

// modeling_baichuan.py.
constexpr NamedPart kBaichuanParts[] = {
    {Part::kQueryKeyValue, "self_attn.W_pack"},
    {Part::kOutput, "self_attn.o_proj"},
    {Part::kGate, "mlp.gate_proj"},
    {Part::kDown, "mlp.down_proj"},
    {Part::kUp, "mlp.up_proj"},
    {Part::kInputNorm, "input_layernorm"},
    {Part::kPreMlpNorm, "post_attention_layernorm"},
};

}  // namespace

void BuildChatGlm(ReadContext& context) {
  const ConfigView& config = context.text;
  // The files name the class ChatGLMModel, the weights have the head all the same.
  if (context.spec.architecture == "ChatGLMModel") context.head = HeadKind::kLanguageModel;
  DecoderPlan plan = PlanDecoder(context);
  plan.names = {.base = "transformer.",
                .layers = "encoder.layers.{l}.",
                .token_embedding = "embedding.word_embeddings",
                .final_norm = "encoder.final_layernorm",
                .head = "transformer.output_layer"};
  plan.layer.parts = kChatGlmParts;
  plan.layer.kind.fused_gate_up_storage = true;
  const bool bias = config.FlagOr({"add_bias_linear"}, false);
  plan.layer.SetAttentionBias(config.FlagOr({"add_qkv_bias"}, false) || bias, bias);
  plan.layer.mlp_bias = bias;
  spec::Attention& attention = plan.layer.kind.attention;
  if (config.FlagOr({"multi_query_attention"}, false)) {
    attention.kv_heads = config.SizeOr({"multi_query_group_num"}, 1);
    config.RequireMultiple({"multi_query_group_num"}, attention.heads, attention.kv_heads,
                           "the number of attention heads must be a multiple of the groups");
  }
  attention.rotary_dim = attention.head_dim / 2;
  if (!config.FlagOr({"rmsnorm"}, true)) {
    plan.layer.kind.norm = spec::NormKind::kLayerNorm;
    plan.layer.norm_bias = true;
  }
  plan.has_final_norm = config.FlagOr({"post_layer_norm"}, true);
  FinishDecoder(context, std::move(plan));
}

void BuildInternLm2(ReadContext& context) {
  DecoderPlan plan = PlanDecoder(context);
  plan.names.token_embedding = "tok_embeddings";
  plan.names.head = "output";
  plan.layer.parts = kInternLm2Parts;
  const bool bias = context.text.FlagOr({"bias"}, false);
  plan.layer.SetAttentionBias(bias, bias);
  FinishDecoder(context, std::move(plan));
}

void BuildBaichuan(ReadContext& context) {
  DecoderPlan plan = PlanDecoder(context);
  plan.layer.parts = kBaichuanParts;
  // The 13B models use ALiBi; their files have model_max_length in place of the rotary length.
  if (!context.text.Has("max_position_embeddings")) {
    plan.positions = Positions::kAlibi;
    plan.layer.kind.attention.rotary_dim = 0;
  }
  FinishDecoder(context, std::move(plan));
}

}  // namespace trainfit::readers
