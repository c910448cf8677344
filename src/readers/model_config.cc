#include "readers/model_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "readers/choose_builder.h"

namespace trainfit::readers {
namespace {

using config::Node;
using config::NodeKind;
using spec::AttentionKind;
using spec::MlpKind;
using spec::StackRole;

// First of `architectures`, diffusers' _class_name, or empty.
std::string ReadArchitecture(const ConfigView& root) {
  const Node* list = root.Find({"architectures"});
  if (list != nullptr && list->kind == NodeKind::kArray && !list->items.empty()) {
    return list->items.front().text;
  }
  return root.TextOr({"_class_name"}, "");
}

HeadKind HeadOf(std::string_view architecture) {
  if (architecture.ends_with("ForSequenceClassification")) return HeadKind::kSequenceClassifier;
  if (architecture.ends_with("ForTokenClassification")) return HeadKind::kTokenClassifier;
  if (architecture.ends_with("ForQuestionAnswering")) return HeadKind::kQuestionAnswering;
  if (architecture.ends_with("HeadModel")) return HeadKind::kLanguageModel;
  if (architecture.ends_with("Model")) return HeadKind::kNone;
  return HeadKind::kLanguageModel;
}

spec::Dtype ReadDtype(const ReadContext& context) {
  std::string name = context.root.TextOr({"torch_dtype", "dtype"}, "");
  if (name.empty()) name = context.text.TextOr({"torch_dtype", "dtype"}, "");
  // Files from before torch_dtype was written (2021) hold fp32 weights.
  if (name.empty()) return spec::Dtype::kFp32;
  if (const auto dtype = spec::ParseDtype(name)) return *dtype;
  context.root.Warn({"torch_dtype", "dtype"}, "unknown-dtype",
                    fmt::format("\"{}\" is no known element type; bf16 is assumed", name));
  return spec::Dtype::kBf16;
}

std::string ReadQuantization(const ConfigView& root) {
  if (!root.Has("quantization_config")) return "";
  const ConfigView config = root.Section("quantization_config");
  std::string method = config.TextOr({"quant_method"}, "");
  if (config.FlagOr({"load_in_4bit", "_load_in_4bit"}, false)) return "bnb-4bit";
  if (config.FlagOr({"load_in_8bit", "_load_in_8bit"}, false)) return "bnb-8bit";
  return method.empty() ? "unknown" : method;
}

// Experts other than gate, up and down projections without biases behind a plain router.
std::string WhyExpertsAreNotSimulated(const spec::LayerKind& layer) {
  const auto has = [&](spec::Part part, bool is_bias) {
    return std::any_of(layer.tensors.begin(), layer.tensors.end(), [&](const spec::TensorSpec& t) {
      return t.part == part && t.is_bias == is_bias;
    });
  };
  if (has(spec::Part::kExpertDown, true)) return "experts with biases";
  const bool has_gate_up =
      has(spec::Part::kExpertGateUp, false) ||
      (has(spec::Part::kExpertGate, false) && has(spec::Part::kExpertUp, false));
  const bool is_plain = has(spec::Part::kRouter, false) && has_gate_up &&
                        has(spec::Part::kExpertDown, false) && layer.mlp.expert_gated;
  return is_plain ? "" : "mixture-of-experts layers of this form";
}

// What no lowering exists for yet; one sentence for the user, empty when there is nothing.
std::string WhyLayerIsNotSimulated(const spec::LayerKind& layer) {
  switch (layer.attention.kind) {
    case AttentionKind::kSoftmax:
      break;
    case AttentionKind::kLatent:
      return "multi-head latent attention";
    case AttentionKind::kMamba1:
    case AttentionKind::kMamba2:
      return "state-space layers";
    case AttentionKind::kGatedDelta:
      return "linear-attention layers";
    case AttentionKind::kRwkv:
      return "RWKV layers";
    case AttentionKind::kNone:
      return "layers without attention";
  }
  const bool has_sinks =
      std::any_of(layer.tensors.begin(), layer.tensors.end(),
                  [](const spec::TensorSpec& t) { return t.part == spec::Part::kSinks; });
  if (has_sinks) return "attention sinks";
  if (layer.mlp.kind == MlpKind::kMoe) return WhyExpertsAreNotSimulated(layer);
  if (layer.mlp.kind == MlpKind::kNone) return "layers without an MLP";
  if (layer.attention.has_cross_attention) return "cross-attention";
  if (layer.attention.output_gate) return "gated attention output";
  return "";
}

std::string WhyNotSimulated(const spec::ModelSpec& model) {
  for (const spec::Stack& stack : model.stacks) {
    switch (stack.role) {
      case StackRole::kDecoder:
        break;
      case StackRole::kEncoder:
        return "encoder layers";
      case StackRole::kVision:
        return "a vision tower";
      case StackRole::kAudio:
        return "an audio encoder";
      case StackRole::kUnet:
        return "a diffusion UNet";
    }
  }
  if (model.stacks.size() > 1) return "several stacks of layers";
  const auto is_class_for = [&](const char* task) {
    return model.architecture.find(task) != std::string::npos;
  };
  if (!model.has_head || is_class_for("Classification") || is_class_for("QuestionAnswering")) {
    return "the class " + model.architecture + " has no language-model head";
  }
  for (const spec::TensorSpec& tensor : model.Text().before) {
    if (tensor.part == spec::Part::kProjector) return "an embedding narrower than the layers";
  }
  for (const spec::LayerKind& layer : model.Text().kinds) {
    std::string reason = WhyLayerIsNotSimulated(layer);
    if (!reason.empty()) return reason;
  }
  return "";
}

void CheckTensors(const std::vector<spec::TensorSpec>& tensors, const ConfigView& root) {
  for (const spec::TensorSpec& tensor : tensors) {
    for (const std::int64_t size : tensor.shape) {
      if (size >= 1 && size <= kMaxDimension) continue;
      root.Reject({}, "absurd-size",
                  fmt::format("the tensor \"{}\" would have a dimension of {}; 1 to {} is possible",
                              tensor.name, size, kMaxDimension));
      return;
    }
  }
}

void CheckSizes(const spec::ModelSpec& model, const ConfigView& root) {
  for (const spec::Stack& stack : model.stacks) {
    CheckTensors(stack.before, root);
    CheckTensors(stack.after, root);
    for (const spec::LayerKind& kind : stack.kinds) CheckTensors(kind.tensors, root);
  }
  if (const std::int64_t total = spec::ParameterCount(model); total > kMaxParameters) {
    root.Reject({}, "absurd-size",
                fmt::format("the model would have more than {} parameters", kMaxParameters));
  }
}

}  // namespace

Expected<spec::ModelSpec> ReadModelConfig(const Node& root, std::string id, Diagnostics* warnings) {
  if (root.kind != NodeKind::kObject) {
    return Fail(ErrorAt(root.Span(), "wrong-type", "a model configuration must be a JSON object"));
  }
  Complaints complaints;
  const ConfigView view(&root, &root, &complaints);
  ReadContext context(view);
  context.spec.id = std::move(id);
  context.spec.architecture = ReadArchitecture(view);
  context.spec.model_type = view.TextOr({"model_type"}, "");
  context.text_type = context.spec.model_type;
  context.head = HeadOf(context.spec.architecture);
  const Builder build = ChooseBuilder(context);
  if (build != nullptr) {
    build(context);
    context.spec.checkpoint_dtype = ReadDtype(context);
    context.spec.checkpoint_quantization = ReadQuantization(view);
    if (complaints.errors.empty()) CheckSizes(context.spec, view);
  }
  if (warnings != nullptr) {
    for (Diagnostic& warning : complaints.warnings) warnings->push_back(std::move(warning));
  }
  if (!complaints.errors.empty()) return Fail(std::move(complaints.errors));
  if (context.spec.not_simulated.empty())
    context.spec.not_simulated = WhyNotSimulated(context.spec);
  return std::move(context.spec);
}

}  // namespace trainfit::readers
