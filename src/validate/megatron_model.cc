// The model that Megatron builds of a record's flags and sizes.
#include <string_view>
#include <utility>

#include "validate/megatron_run.h"

namespace trainfit::validate {
namespace {

using config::Node;
using config::NodeKind;
using spec::Part;

class ModelBuilder {
 public:
  explicit ModelBuilder(const Run& run) : run_(run), arch_(run.arch), settings_(run.settings) {}

  Expected<std::shared_ptr<const spec::ModelSpec>> Build() {
    hidden_ = Size("hidden");
    heads_ = Size("heads");
    vocab_ = Size("vocab");
    ffn_ = Size("ffn");
    const std::int64_t layers = Size("layers");
    if (!missing_.empty()) {
      return Fail(Error("no-size", "model unknown, and its sizes lack " + missing_));
    }
    ReadStyle();
    auto model = std::make_shared<spec::ModelSpec>();
    spec::Stack stack;
    stack.hidden = hidden_;
    stack.layer_prefix = "decoder.layers.{l}.";
    stack.final_norm = norm_;
    stack.positions = is_rotary_
                          ? spec::Positions::kRotary
                          : (has_positions_ ? spec::Positions::kLearned : spec::Positions::kAlibi);
    Ends(stack);
    stack.kinds.push_back(Kind());
    stack.runs.push_back({0, 0, layers});
    model->id = run_.model;
    model->model_type = "megatron";
    model->vocab = vocab_;
    model->tied_head = is_tied_;
    model->stacks.push_back(std::move(stack));
    model->source = "sizes and flags that the record gives";
    return std::shared_ptr<const spec::ModelSpec>(std::move(model));
  }

 private:
  const Node* Present(const Node& object, std::string_view key) const {
    const Node* node = object.Find(key);
    return node == nullptr || node->kind == NodeKind::kNull ? nullptr : node;
  }
  std::int64_t Size(std::string_view key) {
    const Node* node = Present(arch_, key);
    if (node != nullptr && node->kind == NodeKind::kInt && node->integer > 0) return node->integer;
    missing_ += (missing_.empty() ? "" : ", ") + std::string(key);
    return 1;
  }
  std::int64_t SizeOr(std::string_view key, std::int64_t fallback) const {
    const Node* node = Present(arch_, key);
    return node != nullptr && node->kind == NodeKind::kInt && node->integer > 0 ? node->integer
                                                                                : fallback;
  }
  std::optional<bool> Flag(std::string_view key) const {
    const Node* node = Present(arch_, key);
    if (node == nullptr || node->kind != NodeKind::kBool) return std::nullopt;
    return node->boolean;
  }
  bool IsSet(std::string_view key) const {
    const Node* node = Present(settings_, key);
    return node != nullptr && node->kind == NodeKind::kBool && node->boolean;
  }
  std::string Word(const Node& object, std::string_view key) const {
    const Node* node = Present(object, key);
    return node == nullptr ? std::string() : node->text;
  }

  // Flags where there are any (megatron/training/arguments.py has the defaults); else what the
  // record says of the architecture; else Llama's style for gated MLPs and GPT's for others.
  void ReadStyle() {
    const bool has_flags = Present(settings_, "num-layers") != nullptr;
    is_gated_ = Flag("swiglu").value_or(Flag("glu").value_or(false)) || IsSet("swiglu");
    const bool is_llama = is_gated_ && !has_flags;
    const bool is_bloom = Word(arch_, "family") == "gpt (bloom)";
    const std::string positions =
        has_flags ? Word(settings_, "position-embedding-type") : Word(arch_, "pos");
    is_rotary_ = positions == "rope" || (positions.empty() && is_llama);
    has_positions_ = !is_rotary_ && positions != "none" && positions != "alibi" && !is_bloom;
    has_embedding_norm_ = is_bloom;
    const std::string norm = has_flags ? Word(settings_, "normalization") : Word(arch_, "norm");
    const bool is_rms = norm == "RMSNorm" || norm == "rms" || (norm.empty() && is_llama);
    norm_ = is_rms ? spec::NormKind::kRms : spec::NormKind::kLayerNorm;
    has_bias_ = has_flags ? !IsSet("disable-bias-linear") : Flag("bias").value_or(!is_llama);
    is_tied_ = Flag("tied").value_or(!is_llama);
  }

  static spec::TensorSpec Tensor(const char* name, std::vector<std::int64_t> shape, Part part,
                                 bool is_bias = false) {
    spec::TensorSpec tensor;
    tensor.name = name;
    tensor.shape = std::move(shape);
    tensor.part = part;
    tensor.is_bias = is_bias;
    tensor.is_linear = !is_bias && tensor.shape.size() == 2 && part != Part::kTokenEmbedding &&
                       part != Part::kPositionEmbedding;
    return tensor;
  }

  void AddNorm(std::vector<spec::TensorSpec>& tensors, const char* weight, const char* bias,
               Part part, std::int64_t width) const {
    tensors.push_back(Tensor(weight, {width}, part));
    if (norm_ == spec::NormKind::kLayerNorm) tensors.push_back(Tensor(bias, {width}, part, true));
  }

  void Ends(spec::Stack& stack) const {
    stack.before.push_back(
        Tensor("embedding.word_embeddings.weight", {vocab_, hidden_}, Part::kTokenEmbedding));
    if (has_positions_) {
      const std::int64_t rows = SizeOr("max_pos", run_.length.value_or(hidden_));
      stack.before.push_back(Tensor("embedding.position_embeddings.weight", {rows, hidden_},
                                    Part::kPositionEmbedding));
    }
    if (has_embedding_norm_) {
      stack.before.push_back(Tensor("embedding.norm.weight", {hidden_}, Part::kEmbeddingNorm));
      stack.before.push_back(Tensor("embedding.norm.bias", {hidden_}, Part::kEmbeddingNorm, true));
    }
    AddNorm(stack.after, "decoder.final_layernorm.weight", "decoder.final_layernorm.bias",
            Part::kFinalNorm, hidden_);
    if (!is_tied_) {
      stack.after.push_back(Tensor("output_layer.weight", {vocab_, hidden_}, Part::kHead));
    }
  }

  spec::LayerKind Kind() const {
    spec::LayerKind kind;
    kind.norm = norm_;
    spec::Attention& attention = kind.attention;
    attention.heads = heads_;
    attention.kv_heads = SizeOr("kv_heads", heads_);
    attention.head_dim = SizeOr("head_dim", hidden_ / heads_);
    attention.value_head_dim = attention.head_dim;
    attention.rotary_dim = is_rotary_ ? attention.head_dim : 0;
    attention.qk_norm = IsSet("qk-layernorm");
    kind.mlp.kind = is_gated_ ? spec::MlpKind::kGated : spec::MlpKind::kPlain;
    kind.mlp.activation = is_gated_ ? spec::Activation::kSilu : spec::Activation::kGelu;
    kind.mlp.intermediate = ffn_;
    const std::int64_t width = attention.heads * attention.head_dim;
    const std::int64_t fused = width + 2 * attention.kv_heads * attention.head_dim;
    const std::int64_t up = is_gated_ ? 2 * ffn_ : ffn_;
    auto& tensors = kind.tensors;
    AddNorm(tensors, "input_layernorm.weight", "input_layernorm.bias", Part::kInputNorm, hidden_);
    AddLinear(tensors, "self_attention.linear_qkv.weight", "self_attention.linear_qkv.bias", fused,
              hidden_, Part::kQueryKeyValue);
    if (attention.qk_norm) {
      AddNorm(tensors, "self_attention.q_layernorm.weight", "self_attention.q_layernorm.bias",
              Part::kQueryNorm, attention.head_dim);
      AddNorm(tensors, "self_attention.k_layernorm.weight", "self_attention.k_layernorm.bias",
              Part::kKeyNorm, attention.head_dim);
    }
    AddLinear(tensors, "self_attention.linear_proj.weight", "self_attention.linear_proj.bias",
              hidden_, width, Part::kOutput);
    AddNorm(tensors, "pre_mlp_layernorm.weight", "pre_mlp_layernorm.bias", Part::kPreMlpNorm,
            hidden_);
    AddLinear(tensors, "mlp.linear_fc1.weight", "mlp.linear_fc1.bias", up, hidden_,
              is_gated_ ? Part::kGateUp : Part::kUp);
    AddLinear(tensors, "mlp.linear_fc2.weight", "mlp.linear_fc2.bias", hidden_, ffn_, Part::kDown);
    return kind;
  }

  void AddLinear(std::vector<spec::TensorSpec>& tensors, const char* weight, const char* bias,
                 std::int64_t out, std::int64_t in, Part part) const {
    tensors.push_back(Tensor(weight, {out, in}, part));
    if (has_bias_) tensors.push_back(Tensor(bias, {out}, part, true));
  }

  const Run& run_;
  const Node& arch_;
  const Node& settings_;
  std::string missing_;
  std::int64_t hidden_ = 0;
  std::int64_t heads_ = 0;
  std::int64_t vocab_ = 0;
  std::int64_t ffn_ = 0;
  bool is_gated_ = false;
  bool is_rotary_ = false;
  bool has_positions_ = false;
  bool has_embedding_norm_ = false;
  bool has_bias_ = false;
  bool is_tied_ = true;
  spec::NormKind norm_ = spec::NormKind::kLayerNorm;
};

}  // namespace

Expected<std::shared_ptr<const spec::ModelSpec>> MegatronModel(const Run& run) {
  return ModelBuilder(run).Build();
}

}  // namespace trainfit::validate
