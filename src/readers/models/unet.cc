// UNet2DConditionModel of diffusers (Stable Diffusion 1.x, 2.x, XL).
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "readers/models/builders.h"

namespace trainfit::readers {
namespace {

using config::Node;
using config::NodeKind;
using spec::LayerKind;
using spec::NormKind;
using spec::Part;
using spec::Stack;
using spec::TensorSpec;

// Far above any published UNet; they bound the number of tensors that a file can ask for.
constexpr std::size_t kMaxLevels = 16;
constexpr std::int64_t kMaxDepth = 32;

// One level of the UNet, or its middle.
struct Block {
  std::string name;                     // "down_blocks.0"
  std::vector<std::int64_t> resnet_in;  // input channels of each resnet
  std::int64_t out = 0;                 // channels
  std::int64_t transformer_layers = 0;  // of each attention; 0: none
  std::int64_t attentions = 0;
  std::string_view sampler;  // "downsamplers", "upsamplers" or empty
};

struct Shape {
  std::vector<std::int64_t> channels;
  std::vector<std::int64_t> transformer_layers;  // per level
  std::vector<bool> down_attention;
  std::vector<bool> up_attention;
  std::int64_t resnets = 2;
  std::int64_t time_width = 0;
  std::int64_t cross = 1280;
  bool linear_projection = false;
};

class BlockEmitter {
 public:
  BlockEmitter(const Shape& shape, std::vector<TensorSpec>* out) : shape_(shape), list_(out) {}

  // Registration order of CrossAttnDownBlock2D and its kin: attentions, resnets, samplers.
  void Emit(const Block& block) {
    for (std::int64_t i = 0; i < block.attentions; ++i) {
      EmitTransformer(fmt::format("{}.attentions.{}.", block.name, i), block);
    }
    for (std::size_t i = 0; i < block.resnet_in.size(); ++i) {
      EmitResnet(fmt::format("{}.resnets.{}.", block.name, i), block.resnet_in[i], block.out);
    }
    if (!block.sampler.empty()) {
      list_.Convolution(fmt::format("{}.{}.0.conv", block.name, block.sampler),
                        {block.out, block.out, 3, 3}, true);
    }
  }

 private:
  void EmitResnet(const std::string& name, std::int64_t in, std::int64_t out) {
    list_.Norm(name + "norm1", in, NormKind::kLayerNorm, true, Part::kInputNorm);
    list_.Convolution(name + "conv1", {out, in, 3, 3}, true);
    list_.Linear(name + "time_emb_proj", shape_.time_width, out, Part::kOther, true);
    list_.Norm(name + "norm2", out, NormKind::kLayerNorm, true, Part::kPreMlpNorm);
    list_.Convolution(name + "conv2", {out, out, 3, 3}, true);
    if (in != out) list_.Convolution(name + "conv_shortcut", {out, in, 1, 1}, true);
  }

  void EmitProjection(const std::string& name, std::int64_t width) {
    if (shape_.linear_projection) return list_.Linear(name, width, width, Part::kProjector, true);
    list_.Convolution(name, {width, width, 1, 1}, true, Part::kProjector);
  }

  void EmitTransformer(const std::string& name, const Block& block) {
    list_.Norm(name + "norm", block.out, NormKind::kLayerNorm, true, Part::kInputNorm);
    EmitProjection(name + "proj_in", block.out);
    for (std::int64_t l = 0; l < block.transformer_layers; ++l) {
      EmitTransformerLayer(fmt::format("{}transformer_blocks.{}.", name, l), block.out);
    }
    EmitProjection(name + "proj_out", block.out);
  }

  void EmitTransformerLayer(const std::string& name, std::int64_t width) {
    list_.Norm(name + "norm1", width, NormKind::kLayerNorm, true, Part::kInputNorm);
    list_.Linear(name + "attn1.to_q", width, width, Part::kQuery);
    list_.Linear(name + "attn1.to_k", width, width, Part::kKey);
    list_.Linear(name + "attn1.to_v", width, width, Part::kValue);
    list_.Linear(name + "attn1.to_out.0", width, width, Part::kOutput, true);
    list_.Norm(name + "norm2", width, NormKind::kLayerNorm, true, Part::kCrossNorm);
    list_.Linear(name + "attn2.to_q", width, width, Part::kCrossQuery);
    list_.Linear(name + "attn2.to_k", shape_.cross, width, Part::kCrossKey);
    list_.Linear(name + "attn2.to_v", shape_.cross, width, Part::kCrossValue);
    list_.Linear(name + "attn2.to_out.0", width, width, Part::kCrossOutput, true);
    list_.Norm(name + "norm3", width, NormKind::kLayerNorm, true, Part::kPreMlpNorm);
    // GEGLU: twice the width goes in, four times the width comes out.
    list_.Linear(name + "ff.net.0.proj", width, 8 * width, Part::kGateUp, true);
    list_.Linear(name + "ff.net.2", 4 * width, width, Part::kDown, true);
  }

  const Shape& shape_;
  TensorList list_;
};

// A list of sizes, or one size for every level; complains about anything else.
std::vector<std::int64_t> ReadSizes(const ConfigView& config, std::string_view key,
                                    std::size_t count, std::int64_t fallback, std::int64_t max) {
  const Node* node = config.Find({key});
  if (node == nullptr || node->kind != NodeKind::kArray) {
    const std::int64_t size = config.SizeOr({key}, fallback);
    if (size > max) config.Reject({key}, "absurd-size", fmt::format("\"{}\" is too large", key));
    return std::vector<std::int64_t>(count, std::min(size, max));
  }
  std::vector<std::int64_t> sizes;
  for (const Node& item : node->items) {
    if (item.kind == NodeKind::kInt && item.integer >= 1 && item.integer <= max) {
      sizes.push_back(item.integer);
    }
  }
  if (sizes.size() != count || sizes.size() != node->items.size()) {
    config.Reject({key}, "wrong-length",
                  fmt::format("\"{}\" must be a list of {} sizes, one a level", key, count));
    sizes.assign(count, 1);
  }
  return sizes;
}

std::vector<bool> ReadAttention(const ConfigView& config, std::string_view key,
                                std::size_t levels) {
  std::vector<bool> attention(levels, false);
  const Node* node = config.Find({key});
  if (node == nullptr || node->items.size() != levels) {
    config.Reject({key}, "wrong-length",
                  fmt::format("\"{}\" must be a list with one block type a level", key));
    return attention;
  }
  for (std::size_t i = 0; i < levels; ++i) {
    attention[i] = node->items[i].text.starts_with("CrossAttn");
  }
  return attention;
}

Shape ReadShape(const ConfigView& config) {
  Shape shape;
  const Node* channels = config.Find({"block_out_channels"});
  std::size_t levels = channels != nullptr ? channels->items.size() : 4;
  if (levels == 0 || levels > kMaxLevels) {
    config.Reject({"block_out_channels"}, "wrong-length",
                  "\"block_out_channels\" must have 1 to 16 sizes");
    levels = 1;
  }
  if (channels == nullptr) {
    shape.channels = {320, 640, 1280, 1280};  // the class default
  } else {
    shape.channels = ReadSizes(config, "block_out_channels", levels, 320, kMaxDimension);
  }
  shape.transformer_layers =
      ReadSizes(config, "transformer_layers_per_block", levels, 1, kMaxDepth);
  shape.down_attention = ReadAttention(config, "down_block_types", levels);
  shape.up_attention = ReadAttention(config, "up_block_types", levels);
  shape.resnets = ReadSizes(config, "layers_per_block", 1, 2, kMaxLevels).front();
  shape.time_width = 4 * shape.channels.front();
  shape.cross = config.SizeOr({"cross_attention_dim"}, 1280);
  shape.linear_projection = config.FlagOr({"use_linear_projection"}, false);
  return shape;
}

std::vector<Block> PlanBlocks(const Shape& shape) {
  std::vector<Block> blocks;
  const std::size_t levels = shape.channels.size();
  std::int64_t previous = shape.channels.front();
  for (std::size_t i = 0; i < levels; ++i) {
    Block block;
    block.name = fmt::format("down_blocks.{}", i);
    block.out = shape.channels[i];
    block.resnet_in.assign(static_cast<std::size_t>(shape.resnets), block.out);
    block.resnet_in.front() = previous;
    block.transformer_layers = shape.transformer_layers[i];
    block.attentions = shape.down_attention[i] ? shape.resnets : 0;
    if (i + 1 < levels) block.sampler = "downsamplers";
    previous = block.out;
    blocks.push_back(std::move(block));
  }
  blocks.push_back({.name = "mid_block",
                    .resnet_in = {previous, previous},
                    .out = previous,
                    .transformer_layers = shape.transformer_layers.back(),
                    .attentions = 1,
                    .sampler = ""});
  for (std::size_t i = 0; i < levels; ++i) {
    const std::size_t level = levels - 1 - i;
    Block block;
    block.name = fmt::format("up_blocks.{}", i);
    block.out = shape.channels[level];
    // Every resnet also takes one skip connection; the last of a level takes the level below's.
    const std::int64_t below = shape.channels[level > 0 ? level - 1 : 0];
    for (std::int64_t r = 0; r <= shape.resnets; ++r) {
      const std::int64_t skip = r == shape.resnets ? below : block.out;
      block.resnet_in.push_back((r == 0 ? previous : block.out) + skip);
    }
    block.transformer_layers = shape.transformer_layers[level];
    block.attentions = shape.up_attention[i] ? shape.resnets + 1 : 0;
    if (i + 1 < levels) block.sampler = "upsamplers";
    previous = block.out;
    blocks.push_back(std::move(block));
  }
  return blocks;
}

}  // namespace

void BuildUnet(ReadContext& context) {
  const ConfigView& config = context.root;
  const Shape shape = ReadShape(config);
  const std::int64_t first = shape.channels.front();
  Stack stack;
  stack.role = spec::StackRole::kUnet;
  stack.hidden = first;
  stack.positions = spec::Positions::kNone;
  stack.final_norm = NormKind::kLayerNorm;
  TensorList before(&stack.before);
  before.Convolution("conv_in", {first, config.SizeOr({"in_channels"}, 4), 3, 3}, true);
  before.Linear("time_embedding.linear_1", first, shape.time_width, Part::kOther, true);
  before.Linear("time_embedding.linear_2", shape.time_width, shape.time_width, Part::kOther, true);
  if (config.TextOr({"addition_embed_type"}, "") == "text_time") {
    before.Linear("add_embedding.linear_1", config.Size({"projection_class_embeddings_input_dim"}),
                  shape.time_width, Part::kOther, true);
    before.Linear("add_embedding.linear_2", shape.time_width, shape.time_width, Part::kOther, true);
  }
  for (const Block& block : PlanBlocks(shape)) {
    LayerKind& kind = stack.kinds.emplace_back();
    kind.norm = NormKind::kLayerNorm;
    kind.attention.causal = false;
    kind.attention.has_cross_attention = block.attentions > 0;
    kind.tensors.reserve(128);
    BlockEmitter(shape, &kind.tensors).Emit(block);
    const auto index = static_cast<std::int32_t>(stack.runs.size());
    stack.runs.push_back({.kind = index, .first = index, .count = 1});
  }
  TensorList after(&stack.after);
  after.Norm("conv_norm_out", first, NormKind::kLayerNorm, true, Part::kFinalNorm);
  after.Convolution("conv_out", {config.SizeOr({"out_channels"}, 4), first, 3, 3}, true);
  context.spec.has_head = false;
  context.spec.stacks.push_back(std::move(stack));
}

}  // namespace trainfit::readers
