// DeciLM and Nemotron-NAS: Llama's layers, each with sizes of its own or without one of its halves.
#include <algorithm>
#include <cmath>
#include <utility>

#include "readers/models/builders.h"

namespace trainfit::readers {
namespace {

using config::Node;
using config::NodeKind;
using spec::AttentionKind;
using spec::MlpKind;
using spec::Part;

// modeling_decilm.py (published with the models): a sub-layer that was removed takes its norm
// along.
constexpr NamedPart kBothParts[] = {
    {Part::kQuery, "self_attn.q_proj"},    {Part::kKey, "self_attn.k_proj"},
    {Part::kValue, "self_attn.v_proj"},    {Part::kOutput, "self_attn.o_proj"},
    {Part::kGate, "mlp.gate_proj"},        {Part::kUp, "mlp.up_proj"},
    {Part::kDown, "mlp.down_proj"},        {Part::kMixer, "linear layers in place of a half"},
    {Part::kInputNorm, "input_layernorm"}, {Part::kPreMlpNorm, "post_attention_layernorm"},
};
constexpr NamedPart kAttentionParts[] = {
    {Part::kQuery, "self_attn.q_proj"},
    {Part::kKey, "self_attn.k_proj"},
    {Part::kValue, "self_attn.v_proj"},
    {Part::kOutput, "self_attn.o_proj"},
    {Part::kMixer, "a linear layer in place of attention"},
    {Part::kInputNorm, "input_layernorm"},
};
constexpr NamedPart kMlpParts[] = {
    {Part::kGate, "mlp.gate_proj"},
    {Part::kUp, "mlp.up_proj"},
    {Part::kDown, "mlp.down_proj"},
    {Part::kMixer, "a linear layer in place of the MLP"},
    {Part::kPreMlpNorm, "post_attention_layernorm"},
};
constexpr NamedPart kBareParts[] = {{Part::kMixer, "nothing"}};

enum class Half { kFull, kLinear, kNone };

struct Block {
  Half attention = Half::kFull;
  std::int64_t kv_heads = 1;
  Half mlp = Half::kFull;
  std::int64_t width = 1;
  auto operator<=>(const Block&) const = default;
};

Half ReadHalf(const ConfigView& section) {
  if (section.FlagOr({"no_op"}, false)) return Half::kNone;
  return section.FlagOr({"replace_with_linear"}, false) ? Half::kLinear : Half::kFull;
}

// _ffn_mult_to_intermediate_size: two thirds of the multiple, up to the next 256.
std::int64_t WidthOf(double multiple, std::int64_t hidden) {
  const double exact = std::floor(2.0 * multiple * static_cast<double>(hidden) / 3.0);
  const auto width =
      static_cast<std::int64_t>(std::fmin(exact, static_cast<double>(kMaxDimension)));
  return (width + 255) / 256 * 256;
}

// num_key_value_heads_per_layer of DeciLM-7B, or the same number everywhere.
std::vector<Block> ReadHeadsPerLayer(const ConfigView& config, const DecoderSizes& sizes) {
  std::vector<Block> blocks(static_cast<std::size_t>(sizes.layers),
                            {.kv_heads = sizes.kv_heads, .width = sizes.intermediate});
  const Node* list = config.Find({"num_key_value_heads_per_layer"});
  if (list == nullptr) return blocks;
  for (std::size_t l = 0; l < blocks.size() && l < list->items.size(); ++l) {
    const Node& heads = list->items[l];
    const bool divides =
        heads.kind == NodeKind::kInt && heads.integer > 0 && sizes.heads % heads.integer == 0;
    if (divides) {
      blocks[l].kv_heads = heads.integer;
    } else {
      config.Reject({"num_key_value_heads_per_layer"}, "not-a-multiple",
                    "the number of attention heads must be a multiple of each of these numbers");
      return blocks;
    }
  }
  return blocks;
}

std::vector<Block> ReadBlocks(const ConfigView& config, const DecoderSizes& sizes) {
  const Node* list = config.Find({"block_configs"});
  if (list == nullptr) return ReadHeadsPerLayer(config, sizes);
  std::vector<Block> blocks(static_cast<std::size_t>(sizes.layers));
  if (list->kind != NodeKind::kArray || list->items.size() != blocks.size()) {
    config.Reject({"block_configs"}, "wrong-length",
                  "\"block_configs\" must be a list with one object a layer");
    return blocks;
  }
  for (std::size_t l = 0; l < blocks.size(); ++l) {
    const ConfigView block = config.Of(list->items[l]);
    const ConfigView attention = block.Section("attention");
    const ConfigView ffn = block.Section("ffn");
    blocks[l] = {.attention = ReadHalf(attention), .mlp = ReadHalf(ffn)};
    if (blocks[l].attention == Half::kFull) {
      const std::int64_t group = attention.Size({"n_heads_in_group"});
      attention.RequireMultiple({"n_heads_in_group"}, sizes.heads, group,
                                "the number of attention heads must be a multiple of the group");
      blocks[l].kv_heads = std::max<std::int64_t>(sizes.heads / group, 1);
    }
    if (blocks[l].mlp == Half::kFull) {
      blocks[l].width = WidthOf(ffn.NumberOr({"ffn_mult"}, 0), sizes.hidden);
      if (blocks[l].width < 1) {
        ffn.Reject({"ffn_mult"}, "missing-key", "\"ffn_mult\" must be a number above 0");
        blocks[l].width = 1;
      }
    }
  }
  return blocks;
}

}  // namespace

void BuildDeciLm(ReadContext& context) {
  const ConfigView& config = context.text;
  DecoderPlan plan = PlanDecoder(context, {.has_mlp = !config.Has("block_configs")});
  const bool bias = config.FlagOr({"attention_bias"}, false);
  plan.layer.SetAttentionBias(bias, bias);
  plan.layer.mlp_bias = config.FlagOr({"mlp_bias"}, false);
  const std::vector<Block> blocks = ReadBlocks(config, plan.sizes);
  const auto key = [&](std::int64_t l) { return blocks[static_cast<std::size_t>(l)]; };
  const std::int64_t hidden = plan.sizes.hidden;
  plan.Vary(key, [&](std::int64_t l) {
    const Block block = key(l);
    LayerPlan layer = plan.layer;
    layer.kind.attention.kv_heads = block.kv_heads;
    layer.kind.mlp.intermediate = block.width;
    if (block.attention != Half::kFull) layer.kind.attention = {.kind = AttentionKind::kNone};
    if (block.mlp != Half::kFull) layer.kind.mlp = {.kind = MlpKind::kNone};
    TensorList list(&layer.mixer);
    if (block.attention == Half::kLinear) {
      list.Linear("self_attn.linear_attn", hidden, hidden, Part::kMixer);
    }
    if (block.mlp == Half::kLinear) list.Linear("mlp.linear_mlp", hidden, hidden, Part::kMixer);
    layer.parts = kBothParts;
    if (block.attention == Half::kNone) layer.parts = kMlpParts;
    if (block.mlp == Half::kNone) layer.parts = kAttentionParts;
    if (block.attention == Half::kNone && block.mlp == Half::kNone) layer.parts = kBareParts;
    return layer;
  });
  FinishDecoder(context, std::move(plan));
}

}  // namespace trainfit::readers
