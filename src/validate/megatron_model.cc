// The model that Megatron builds of a record's flags and sizes.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

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
    // Where every layer has experts, a record need not say how wide a dense one would be.
    const bool all_experts = IsMixture() && DenseLayers() == 0 && ExpertWidth(0) > 0;
    ffn_ = all_experts ? SizeOr({"ffn"}, ExpertWidth(0)) : Size("ffn");
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
    Layers(stack, layers);
    if (!complaint_.empty()) return Fail(Error("no-size", complaint_));
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
  // The first of `keys` that holds a number above 0; "moe.topk" is a member of the object "moe".
  std::int64_t SizeOr(std::initializer_list<std::string_view> keys, std::int64_t fallback) const {
    for (const std::string_view key : keys) {
      const std::size_t dot = key.find('.');
      const Node* node = Present(arch_, key.substr(0, dot));
      if (node != nullptr && dot != std::string_view::npos) {
        node = node->kind == NodeKind::kObject ? Present(*node, key.substr(dot + 1)) : nullptr;
      }
      if (node != nullptr && node->kind == NodeKind::kInt && node->integer > 0) {
        return node->integer;
      }
    }
    return fallback;
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
      const std::int64_t rows = SizeOr({"max_pos"}, run_.length.value_or(hidden_));
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

  bool IsMixture() const { return Experts() > 1; }
  std::int64_t Experts() const { return SizeOr({"experts", "num_experts", "moe.experts"}, 0); }
  std::int64_t ExpertWidth(std::int64_t fallback) const {
    return SizeOr({"moe_ffn", "moe.expert_ffn"}, fallback);
  }
  std::int64_t DenseLayers() const { return SizeOr({"dense_layers", "moe.first_dense_layers"}, 0); }

  // "alternating full / sliding-window 128": the window of every second layer, from the first on
  // (megatron/core/transformer/utils.py is_layer_window_attention, window_attn_skip_freq 2).
  std::int64_t AlternatingWindow() {
    const std::string text = Word(arch_, "attention_type");
    constexpr std::string_view kStart = "alternating full / sliding-window ";
    if (text.empty() || text.starts_with("MLA")) return 0;
    const char* end = text.data() + text.size();
    std::int64_t window = 0;
    const bool is_known =
        text.starts_with(kStart) &&
        std::from_chars(text.data() + kStart.size(), end, window).ec == std::errc();
    if (!is_known) complaint_ = "attention " + text;
    return window;
  }

  // Layers that are alike are one kind: with experts or without, with a window or without.
  void Layers(spec::Stack& stack, std::int64_t layers) {
    std::vector<bool> has_experts(static_cast<std::size_t>(layers));
    if (IsMixture()) has_experts = Pattern(layers);
    if (std::cmp_not_equal(has_experts.size(), layers)) {
      complaint_ = "which layers have experts is not stated";
      return;
    }
    if (Word(arch_, "attention_type") == "MLA") complaint_ = "sizes of the latent attention";
    const std::int64_t window = AlternatingWindow();
    std::vector<std::pair<bool, bool>> kinds;
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      const std::pair<bool, bool> wanted(has_experts[static_cast<std::size_t>(layer)],
                                         window > 0 && layer % 2 == 0);
      const auto found = std::find(kinds.begin(), kinds.end(), wanted);
      const auto kind = static_cast<std::int32_t>(found - kinds.begin());
      if (found == kinds.end()) {
        kinds.push_back(wanted);
        stack.kinds.push_back(Kind(wanted.first));
        if (wanted.second) stack.kinds.back().attention.window = window;
      }
      if (!stack.runs.empty() && stack.runs.back().kind == kind) {
        ++stack.runs.back().count;
      } else {
        stack.runs.push_back({kind, layer, 1});
      }
    }
  }

  // "([0]*3+[1]*11)" as Megatron's --moe-layer-freq writes it, or a number of dense layers first.
  std::vector<bool> Pattern(std::int64_t layers) const {
    const std::string text = Word(arch_, "moe_layer_freq");
    std::vector<bool> pattern;
    if (text.empty()) {
      const std::int64_t dense = DenseLayers();
      const std::int64_t step = SizeOr({"moe_every"}, 1);
      for (std::int64_t layer = 0; layer < layers; ++layer) {
        pattern.push_back(layer >= dense && (layer + 1) % step == 0);
      }
      return pattern;
    }
    for (std::size_t at = text.find('['); at != std::string::npos; at = text.find('[', at + 1)) {
      const bool is_moe = text.compare(at, 3, "[1]") == 0;
      std::int64_t count = 1;
      if (text.compare(at + 3, 1, "*") == 0) {
        count = 0;
        for (std::size_t i = at + 4; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
          count = std::min<std::int64_t>(10 * count + (text[i] - '0'), layers);
        }
      }
      pattern.insert(pattern.end(), static_cast<std::size_t>(count), is_moe);
    }
    return pattern;
  }

  spec::LayerKind Kind(bool has_experts) const {
    spec::LayerKind kind;
    kind.norm = norm_;
    spec::Attention& attention = kind.attention;
    if (IsLatent()) {
      LatentKind(kind);
      FeedForward(kind, has_experts);
      return kind;
    }
    attention.heads = heads_;
    attention.kv_heads = SizeOr({"kv_heads"}, heads_);
    attention.head_dim = SizeOr({"head_dim"}, hidden_ / heads_);
    attention.value_head_dim = attention.head_dim;
    attention.rotary_dim = is_rotary_ ? attention.head_dim : 0;
    attention.qk_norm = IsSet("qk-layernorm");
    const std::int64_t width = attention.heads * attention.head_dim;
    const std::int64_t fused = width + 2 * attention.kv_heads * attention.head_dim;
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
    FeedForward(kind, has_experts);
    return kind;
  }

  bool IsLatent() const {
    const Node* sizes = Present(arch_, "mla");
    if (Word(arch_, "attention_type").starts_with("MLA")) return true;
    return Flag("mla").value_or(sizes != nullptr && sizes->kind == NodeKind::kObject);
  }

  // The number behind a word of "MLA q_lora 1536 kv_lora 512 qk_nope 128 rope 64 v 128".
  std::int64_t NamedSize(std::string_view word, std::int64_t fallback) const {
    const std::string text = Word(arch_, "attention_type");
    const std::size_t at = text.find(fmt::format(" {} ", word));
    if (at == std::string::npos) return fallback;
    std::int64_t size = fallback;
    std::from_chars(text.data() + at + word.size() + 2, text.data() + text.size(), size);
    return size;
  }

  std::int64_t Setting(std::string_view key, std::int64_t fallback) const {
    const Node* node = Present(settings_, key);
    return node != nullptr && node->kind == NodeKind::kInt ? node->integer : fallback;
  }

  // Sizes by the record's own words, or by Megatron's flags (transformer_config.py
  // MLATransformerConfig has the defaults).
  void LatentKind(spec::LayerKind& kind) const {
    spec::Attention& a = kind.attention;
    a.kind = spec::AttentionKind::kLatent;
    a.heads = heads_;
    a.kv_heads = heads_;
    const std::int64_t nope =
        SizeOr({"qk_head_dim", "mla.qk_nope"}, NamedSize("qk_nope", Setting("qk-head-dim", 128)));
    a.rope_head_dim = SizeOr({"qk_rope_dim", "mla.qk_rope"},
                             NamedSize("rope", Setting("qk-pos-emb-head-dim", 64)));
    a.head_dim = nope + a.rope_head_dim;
    a.value_head_dim = SizeOr({"v_head_dim", "mla.v"}, NamedSize("v", Setting("v-head-dim", 128)));
    a.query_rank =
        SizeOr({"q_lora_rank", "mla.q_lora"}, NamedSize("q_lora", Setting("q-lora-rank", 0)));
    a.kv_rank =
        SizeOr({"kv_lora_rank", "mla.kv_lora"}, NamedSize("kv_lora", Setting("kv-lora-rank", 512)));
    a.rotary_dim = a.rope_head_dim;
    auto& tensors = kind.tensors;
    AddNorm(tensors, "input_layernorm.weight", "input_layernorm.bias", Part::kInputNorm, hidden_);
    const std::int64_t q = a.heads * a.head_dim;
    if (a.query_rank > 0) {
      tensors.push_back(Tensor("self_attention.linear_q_down_proj.weight", {a.query_rank, hidden_},
                               Part::kQueryDown));
      AddNorm(tensors, "self_attention.q_layernorm.weight", "self_attention.q_layernorm.bias",
              Part::kQueryDownNorm, a.query_rank);
      tensors.push_back(
          Tensor("self_attention.linear_q_up_proj.weight", {q, a.query_rank}, Part::kQueryUp));
    } else {
      tensors.push_back(Tensor("self_attention.linear_q_proj.weight", {q, hidden_}, Part::kQuery));
    }
    tensors.push_back(Tensor("self_attention.linear_kv_down_proj.weight",
                             {a.kv_rank + a.rope_head_dim, hidden_}, Part::kKeyValueDown));
    AddNorm(tensors, "self_attention.kv_layernorm.weight", "self_attention.kv_layernorm.bias",
            Part::kKeyValueDownNorm, a.kv_rank);
    tensors.push_back(Tensor("self_attention.linear_kv_up_proj.weight",
                             {a.heads * (nope + a.value_head_dim), a.kv_rank}, Part::kKeyValueUp));
    tensors.push_back(Tensor("self_attention.linear_proj.weight",
                             {hidden_, a.heads * a.value_head_dim}, Part::kOutput));
  }

  void FeedForward(spec::LayerKind& kind, bool has_experts) const {
    auto& tensors = kind.tensors;
    AddNorm(tensors, "pre_mlp_layernorm.weight", "pre_mlp_layernorm.bias", Part::kPreMlpNorm,
            hidden_);
    const std::int64_t factor = is_gated_ ? 2 : 1;
    kind.mlp.activation = is_gated_ ? spec::Activation::kSilu : spec::Activation::kGelu;
    if (!has_experts) {
      kind.mlp.kind = is_gated_ ? spec::MlpKind::kGated : spec::MlpKind::kPlain;
      kind.mlp.intermediate = ffn_;
      AddLinear(tensors, "mlp.linear_fc1.weight", "mlp.linear_fc1.bias", factor * ffn_, hidden_,
                is_gated_ ? Part::kGateUp : Part::kUp);
      AddLinear(tensors, "mlp.linear_fc2.weight", "mlp.linear_fc2.bias", hidden_, ffn_,
                Part::kDown);
      return;
    }
    spec::Mlp& mlp = kind.mlp;
    mlp.kind = spec::MlpKind::kMoe;
    mlp.expert_gated = is_gated_;
    mlp.experts = Experts();
    mlp.experts_per_token = SizeOr({"topk", "top_k", "moe.topk"}, Setting("moe-router-topk", 2));
    mlp.intermediate = ExpertWidth(ffn_);
    mlp.shared_intermediate =
        SizeOr({"shared_ffn", "shared_expert_ffn"}, SizeOr({"moe.shared"}, 0) * mlp.intermediate);
    const std::int64_t i = mlp.intermediate;
    tensors.push_back(Tensor("mlp.router.weight", {mlp.experts, hidden_}, Part::kRouter));
    for (const auto& [name, rows, cols, part] :
         {std::tuple("mlp.experts.linear_fc1.weight{e}", factor * i, hidden_,
                     is_gated_ ? Part::kExpertGateUp : Part::kExpertUp),
          std::tuple("mlp.experts.linear_fc2.weight{e}", hidden_, i, Part::kExpertDown)}) {
      spec::TensorSpec tensor = Tensor(name, {rows, cols}, part);
      tensor.copies = mlp.experts;
      tensors.push_back(std::move(tensor));
    }
    if (mlp.shared_intermediate == 0) return;
    tensors.push_back(Tensor("mlp.shared_experts.linear_fc1.weight",
                             {factor * mlp.shared_intermediate, hidden_}, Part::kSharedUp));
    tensors.push_back(Tensor("mlp.shared_experts.linear_fc2.weight",
                             {hidden_, mlp.shared_intermediate}, Part::kSharedDown));
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
  std::string complaint_;
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
