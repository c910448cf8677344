#include "readers/layer_plan.h"

#include <limits>
#include <utility>

namespace trainfit::readers {
namespace {

using spec::AttentionKind;
using spec::MlpKind;
using spec::NormKind;
using spec::Part;

std::string Joined(std::string_view module, std::string_view leaf) {
  std::string name;
  name.reserve(module.size() + leaf.size());
  name.append(module).append(leaf);
  return name;
}

// Emits one part of a layer; knows the shape of every part.
class LayerEmitter {
 public:
  LayerEmitter(const LayerPlan& plan, std::vector<spec::TensorSpec>* out)
      : plan_(plan), attention_(plan.kind.attention), mlp_(plan.kind.mlp), out_(out), list_(out) {}

  void Emit(const NamedPart& part) {
    if (EmitProjection(part) || EmitLatent(part) || EmitCross(part)) return;
    if (EmitMlp(part) || EmitExperts(part)) return;
    if (part.part == Part::kMixer) {
      out_->insert(out_->end(), plan_.mixer.begin(), plan_.mixer.end());
      return;
    }
    EmitNorm(part);
  }

 private:
  void Projection(const NamedPart& part, std::int64_t in, std::int64_t out, bool bias) {
    if (!plan_.conv1d) return list_.Linear(part.name, in, out, part.part, bias);
    list_.Conv1d(part.name, in, out, part.part);
  }

  bool EmitProjection(const NamedPart& part) {
    const bool softmax = attention_.kind == AttentionKind::kSoftmax;
    const std::int64_t h = plan_.hidden;
    const std::int64_t queries = Product(attention_.heads, attention_.head_dim);
    const std::int64_t keys = Product(attention_.kv_heads, attention_.head_dim);
    const std::int64_t gates = attention_.output_gate ? 2 : 1;
    switch (part.part) {
      case Part::kQuery:
        if (softmax)
          Projection(part, h, Product(queries, gates), plan_.query_bias);
        else if (attention_.kind == AttentionKind::kLatent && attention_.query_rank == 0)
          Projection(part, h, queries, false);
        return true;
      case Part::kKey:
        if (softmax && plan_.has_key) Projection(part, h, keys, plan_.key_bias);
        return true;
      case Part::kValue:
        if (softmax && plan_.has_key && plan_.has_value) {
          Projection(part, h, keys, plan_.value_bias);
        }
        return true;
      case Part::kQueryKeyValue:
        if (softmax) Projection(part, h, queries + 2 * keys, plan_.query_bias);
        return true;
      case Part::kOutput:
        if (softmax || attention_.kind == AttentionKind::kLatent) {
          Projection(part, Product(attention_.heads, attention_.value_head_dim), h,
                     plan_.output_bias);
        }
        return true;
      case Part::kQueryNorm:
      case Part::kKeyNorm:
        EmitHeadNorm(part);
        return true;
      case Part::kSinks:
        if (softmax) list_.Parameter(std::string(part.name), {attention_.heads}, Part::kSinks);
        return true;
      case Part::kRelativeBias:
        if (plan_.relative_buckets > 0) {
          list_.Embedding(part.name, plan_.relative_buckets, attention_.heads, part.part);
        }
        return true;
      default:
        return false;
    }
  }

  void EmitHeadNorm(const NamedPart& part) {
    if (!attention_.qk_norm || (part.part == Part::kKeyNorm && !plan_.has_key)) return;
    const std::int64_t heads =
        part.part == Part::kQueryNorm ? attention_.heads : attention_.kv_heads;
    if (part.name.find("{e}") != std::string_view::npos) {  // one module a head (StableLM)
      list_.Parameter(Joined(part.name, ".weight"), {attention_.head_dim}, part.part).copies =
          heads;
      return;
    }
    if (plan_.qk_norm_per_head_weights) {
      list_.Parameter(Joined(part.name, ".weight"), {heads, attention_.head_dim}, part.part);
      return;
    }
    const std::int64_t width =
        attention_.qk_norm_full_width ? Product(heads, attention_.head_dim) : attention_.head_dim;
    list_.Norm(part.name, width, plan_.qk_norm_kind, plan_.norm_bias, part.part);
  }

  bool EmitLatent(const NamedPart& part) {
    const bool latent = attention_.kind == AttentionKind::kLatent;
    const bool has_query_latent = latent && attention_.query_rank > 0;
    const std::int64_t heads = attention_.heads;
    switch (part.part) {
      case Part::kQueryDown:
        if (has_query_latent)
          list_.Linear(part.name, plan_.hidden, attention_.query_rank, part.part,
                       plan_.latent_bias);
        return true;
      case Part::kQueryDownNorm:
        if (has_query_latent)
          list_.Norm(part.name, attention_.query_rank, NormKind::kRms, false, part.part);
        return true;
      case Part::kQueryUp:
        if (has_query_latent)
          list_.Linear(part.name, attention_.query_rank, Product(heads, attention_.head_dim),
                       part.part);
        return true;
      case Part::kKeyValueDown:
        if (latent)
          list_.Linear(part.name, plan_.hidden, attention_.kv_rank + attention_.rope_head_dim,
                       part.part, plan_.latent_bias);
        return true;
      case Part::kKeyValueDownNorm:
        if (latent) list_.Norm(part.name, attention_.kv_rank, NormKind::kRms, false, part.part);
        return true;
      case Part::kKeyValueUp:
        if (latent)
          list_.Linear(part.name, attention_.kv_rank,
                       Product(heads, attention_.head_dim - attention_.rope_head_dim +
                                          attention_.value_head_dim),
                       part.part);
        return true;
      default:
        return false;
    }
  }

  bool EmitCross(const NamedPart& part) {
    const std::int64_t h = plan_.hidden;
    const std::int64_t queries = Product(attention_.heads, attention_.head_dim);
    const std::int64_t keys = Product(attention_.kv_heads, attention_.head_dim);
    const std::int64_t source = plan_.cross_hidden > 0 ? plan_.cross_hidden : h;
    const bool cross = attention_.has_cross_attention;
    switch (part.part) {
      case Part::kCrossQuery:
        if (cross) list_.Linear(part.name, h, queries, part.part, plan_.query_bias);
        return true;
      case Part::kCrossKey:
        if (cross) list_.Linear(part.name, source, keys, part.part, plan_.key_bias);
        return true;
      case Part::kCrossValue:
        if (cross) list_.Linear(part.name, source, keys, part.part, plan_.value_bias);
        return true;
      case Part::kCrossOutput:
        if (cross) list_.Linear(part.name, queries, h, part.part, plan_.output_bias);
        return true;
      default:
        return false;
    }
  }

  bool EmitMlp(const NamedPart& part) {
    const bool beside = plan_.dense_width > 0;
    const bool gated = mlp_.kind == MlpKind::kGated || (beside && mlp_.expert_gated);
    const bool dense = gated || mlp_.kind == MlpKind::kPlain || beside;
    const std::int64_t h = plan_.hidden;
    const std::int64_t width = beside ? plan_.dense_width : mlp_.intermediate;
    switch (part.part) {
      case Part::kGate:
        if (gated) Projection(part, h, width, plan_.mlp_bias);
        return true;
      case Part::kUp:
        if (dense) Projection(part, h, width, plan_.mlp_bias);
        return true;
      case Part::kGateUp:
        if (gated) Projection(part, h, 2 * width, plan_.mlp_bias);
        return true;
      case Part::kDown:
        if (dense) Projection(part, width, h, plan_.mlp_bias);
        return true;
      default:
        return false;
    }
  }

  bool EmitExperts(const NamedPart& part) {
    const bool moe = mlp_.kind == MlpKind::kMoe;
    const bool shared = moe && mlp_.shared_intermediate > 0;
    const std::int64_t h = plan_.hidden;
    switch (part.part) {
      case Part::kRouter:
        if (moe) {
          const std::size_t weight = out_->size();
          list_.Linear(part.name, h, plan_.router_rows > 0 ? plan_.router_rows : mlp_.experts,
                       part.part, plan_.router_bias);
          (*out_)[weight].is_linear = plan_.router_is_linear;
        }
        return true;
      case Part::kOther:  // the correction bias that load balancing, not the gradient, moves
        if (moe) {
          list_
              .Parameter(std::string(part.name),
                         {plan_.router_rows > 0 ? plan_.router_rows : mlp_.experts}, part.part)
              .trainable = false;
        }
        return true;
      case Part::kExpertGate:
      case Part::kExpertUp:
      case Part::kExpertGateUp:
      case Part::kExpertDown:
        if (moe) EmitExpert(part);
        return true;
      case Part::kSharedGate:
        if (shared && mlp_.expert_gated)
          list_.Linear(part.name, h, mlp_.shared_intermediate, part.part, plan_.mlp_bias);
        return true;
      case Part::kSharedUp:
        if (shared) list_.Linear(part.name, h, mlp_.shared_intermediate, part.part, plan_.mlp_bias);
        return true;
      case Part::kSharedDown:
        if (shared) list_.Linear(part.name, mlp_.shared_intermediate, h, part.part, plan_.mlp_bias);
        return true;
      case Part::kSharedRouterGate:
        if (shared) list_.Linear(part.name, h, 1, part.part);
        return true;
      default:
        return false;
    }
  }

  void EmitExpert(const NamedPart& part) {
    if (part.part == Part::kExpertGate && !mlp_.expert_gated) return;
    std::int64_t in = plan_.hidden;
    std::int64_t out = mlp_.intermediate;
    if (part.part == Part::kExpertGateUp) out *= 2;
    if (part.part == Part::kExpertDown) std::swap(in, out);
    if (!plan_.fused_experts) {
      list_.Linear(part.name, in, out, part.part, plan_.mlp_bias, mlp_.experts);
      return;
    }
    if (plan_.flat_experts) {
      list_.Parameter(std::string(part.name),
                      {Product(mlp_.experts, mlp_.intermediate), plan_.hidden}, part.part);
      return;
    }
    const auto first = plan_.expert_in_first ? in : out;
    const auto second = plan_.expert_in_first ? out : in;
    list_.Parameter(std::string(part.name), {mlp_.experts, first, second}, part.part);
    if (plan_.mlp_bias) {
      list_.Parameter(Joined(part.name, "_bias"), {mlp_.experts, out}, part.part).is_bias = true;
    }
  }

  void EmitNorm(const NamedPart& part) {
    if (!plan_.kind.norm_has_weight) return;
    if (part.part == Part::kCrossNorm && !attention_.has_cross_attention) return;
    list_.Norm(part.name, plan_.hidden, plan_.kind.norm, plan_.norm_bias, part.part);
  }

  const LayerPlan& plan_;
  const spec::Attention& attention_;
  const spec::Mlp& mlp_;
  std::vector<spec::TensorSpec>* out_;
  TensorList list_;
};

}  // namespace

void TensorList::Linear(std::string_view module, std::int64_t in, std::int64_t out, Part part,
                        bool bias, std::int64_t copies) {
  spec::TensorSpec& weight = Parameter(Joined(module, ".weight"), {out, in}, part);
  // LoRA's "all-linear" and 4-bit loading leave the output head alone.
  weight.is_linear = part != Part::kHead;
  weight.copies = copies;
  if (!bias) return;
  spec::TensorSpec& vector = Parameter(Joined(module, ".bias"), {out}, part);
  vector.is_bias = true;
  vector.copies = copies;
}

void TensorList::Conv1d(std::string_view module, std::int64_t in, std::int64_t out, Part part) {
  spec::TensorSpec& weight = Parameter(Joined(module, ".weight"), {in, out}, part);
  weight.is_linear = true;
  weight.is_transposed = true;
  Parameter(Joined(module, ".bias"), {out}, part).is_bias = true;
}

void TensorList::Embedding(std::string_view module, std::int64_t rows, std::int64_t width,
                           Part part) {
  Parameter(Joined(module, ".weight"), {rows, width}, part);
}

void TensorList::Norm(std::string_view module, std::int64_t width, NormKind kind, bool bias,
                      Part part) {
  if (kind == NormKind::kNone) return;
  Parameter(Joined(module, ".weight"), {width}, part);
  if (kind == NormKind::kLayerNorm && bias) {
    Parameter(Joined(module, ".bias"), {width}, part).is_bias = true;
  }
}

void TensorList::Convolution(std::string_view module, std::vector<std::int64_t> shape, bool bias,
                             Part part) {
  const std::int64_t out = shape.front();
  Parameter(Joined(module, ".weight"), std::move(shape), part);
  if (bias) Parameter(Joined(module, ".bias"), {out}, part).is_bias = true;
}

spec::TensorSpec& TensorList::Parameter(std::string name, std::vector<std::int64_t> shape,
                                        Part part) {
  spec::TensorSpec& tensor = out_->emplace_back();
  tensor.name = std::move(name);
  tensor.shape = std::move(shape);
  tensor.part = part;
  return tensor;
}

spec::LayerKind EmitLayer(const LayerPlan& plan) {
  spec::LayerKind layer = plan.kind;
  layer.tensors.clear();
  layer.tensors.reserve(plan.parts.size() * 2);
  LayerEmitter emitter(plan, &layer.tensors);
  for (const NamedPart& part : plan.parts) emitter.Emit(part);
  return layer;
}

std::int64_t Product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::numeric_limits<std::int64_t>::max();
  return product;
}

}  // namespace trainfit::readers
