#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "api/sheet_of.h"
#include "base/json_writer.h"
#include "report/numbers.h"

namespace trainfit::api {
namespace {

using report::Sheet;
using report::SheetSection;
using spec::ModelSpec;
using spec::TensorSpec;

// Equal tensors of equal layers: "model.layers.{l}.mlp.up_proj.weight", 32 of them.
struct TensorGroup {
  std::string name;
  std::string layers;  // "0-31", "0-2, 4, 6"; empty: in no layer
  const TensorSpec* tensor = nullptr;
  std::int64_t count = 1;  // layers × copies

  std::int64_t Params() const { return tensor->Elements() / tensor->copies * count; }
};

// The numbers of the layers of one kind, in runs.
std::string LayerNumbers(const spec::Stack& stack, std::int32_t kind, std::int64_t* layers) {
  std::string text;
  std::int64_t first = -1;
  std::int64_t end = -1;
  const auto flush = [&] {
    if (first < 0) return;
    text += (text.empty() ? "" : ", ") + std::to_string(first);
    if (end - first > 1) text += "-" + std::to_string(end - 1);
  };
  for (const spec::LayerRun& run : stack.runs) {
    if (run.kind != kind) continue;
    *layers += run.count;
    if (run.first != end) {
      flush();
      first = run.first;
    }
    end = run.first + run.count;
  }
  flush();
  return text;
}

std::vector<TensorGroup> GroupsOf(const ModelSpec& model) {
  std::vector<TensorGroup> groups;
  for (const spec::Stack& stack : model.stacks) {
    for (const TensorSpec& tensor : stack.before) {
      groups.push_back({tensor.name, "", &tensor, tensor.copies});
    }
    for (std::size_t kind = 0; kind < stack.kinds.size(); ++kind) {
      std::int64_t layers = 0;
      const std::string numbers = LayerNumbers(stack, static_cast<std::int32_t>(kind), &layers);
      if (layers == 0) continue;
      for (const TensorSpec& tensor : stack.kinds[kind].tensors) {
        groups.push_back(
            {stack.layer_prefix + tensor.name, numbers, &tensor, layers * tensor.copies});
      }
    }
    for (const TensorSpec& tensor : stack.after) {
      groups.push_back({tensor.name, "", &tensor, tensor.copies});
    }
  }
  return groups;
}

std::int64_t TrainableOf(const std::vector<TensorGroup>& groups) {
  std::int64_t params = 0;
  for (const TensorGroup& group : groups) {
    if (group.tensor->trainable) params += group.Params();
  }
  return params;
}

void AddText(const char* label, const std::string& text, SheetSection* section) {
  if (!text.empty()) section->facts.push_back({label, text});
}

std::string ShapeText(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t size : shape) {
    text += (text.empty() ? "" : " × ") + report::WithCommas(size);
  }
  return text.empty() ? "scalar" : text;
}

SheetSection Overview(const ModelSpec& model, const std::vector<TensorGroup>& groups,
                      const plan::PeftTensors* adapter) {
  SheetSection section{"model", {}, {}};
  const std::int64_t params = spec::ParameterCount(model);
  const std::int64_t active = spec::ActiveParameterCount(model);
  AddText("model_type", model.model_type, &section);
  AddText("class", model.architecture, &section);
  AddText("parameters", report::WithCommas(params), &section);
  if (active != params) AddText("active a token", report::WithCommas(active), &section);
  const std::int64_t trainable = TrainableOf(groups);
  if (adapter != nullptr) {
    AddText("adapter's", report::WithCommas(adapter->Added()), &section);
    AddText("trainable",
            fmt::format("{} ({:.4f} % of {})", report::WithCommas(adapter->Trainable()),
                        100.0 * static_cast<double>(adapter->Trainable()) /
                            static_cast<double>(params + adapter->Added()),
                        report::WithCommas(params + adapter->Added())),
            &section);
  } else if (trainable != params) {
    AddText("trainable", report::WithCommas(trainable) + " (others are constants)", &section);
  }
  std::int64_t tensors = 0;
  for (const TensorGroup& group : groups) tensors += group.count;
  AddText("tensors", report::WithCommas(tensors), &section);
  // Zero: not known, of tensors without a configuration.
  const auto add_size = [&](const char* label, std::int64_t size) {
    if (size > 0) AddText(label, report::WithCommas(size), &section);
  };
  add_size("layers", model.Text().Layers());
  add_size("width", model.Text().hidden);
  add_size("vocabulary", model.vocab);
  if (model.has_head) {
    AddText("head", model.tied_head ? "the token embedding (tied)" : "its own matrix", &section);
  }
  add_size("positions", model.max_positions);
  AddText("stored as",
          model.checkpoint_quantization.empty() ? std::string(spec::Name(model.checkpoint_dtype))
                                                : model.checkpoint_quantization,
          &section);
  AddText("license", model.license, &section);
  AddText("source", model.source, &section);
  if (!model.not_simulated.empty()) {
    section.sentences.push_back("its training is not simulated yet: " + model.not_simulated);
  }
  return section;
}

SheetSection CatalogueSection(const config::Node& record) {
  SheetSection section{"in the catalogue", {}, {}};
  for (const char* key : {"params_check", "params_source", "config_basis", "as_of"}) {
    if (const config::Node* node = record.Find(key)) {
      std::string label = key;
      for (char& c : label) c = c == '_' ? ' ' : c;
      AddText(label.c_str(), node->text, &section);
    }
  }
  if (const config::Node* list = record.Find("same_shapes")) {
    std::string names;
    for (const config::Node& item : list->items) names += (names.empty() ? "" : ", ") + item.text;
    AddText("same shapes", names, &section);
  }
  if (const config::Node* list = record.Find("notes")) {
    for (const config::Node& item : list->items) section.sentences.push_back(item.text);
  }
  return section;
}

std::string ModelJson(const ModelSpec& model, const std::vector<TensorGroup>& groups,
                      const std::vector<std::string>& notes, const plan::PeftTensors* adapter) {
  JsonWriter json;
  json.BeginObject();
  json.Field("schema", "trainfit.model/1");
  json.Field("id", model.id);
  json.Field("model_type", model.model_type);
  json.Field("architecture", model.architecture);
  json.Field("params", spec::ParameterCount(model));
  json.Field("active_params", spec::ActiveParameterCount(model));
  json.Field("trainable_params", adapter != nullptr ? adapter->Trainable() : TrainableOf(groups));
  if (adapter != nullptr) json.Field("adapter_params", adapter->Added());
  json.Key("tensors").BeginArray();
  for (const TensorGroup& group : groups) {
    json.BeginObject();
    json.Field("name", group.name);
    json.Field("layers", group.layers);
    json.Key("shape").BeginArray();
    for (const std::int64_t size : group.tensor->shape) json.Int(size);
    json.EndArray();
    json.Field("count", group.count);
    json.Field("params", group.Params());
    json.Field("trainable", group.tensor->trainable);
    json.EndObject();
  }
  json.EndArray();
  json.Field("source", model.source);
  json.Field("license", model.license);
  json.Field("not_simulated", model.not_simulated);
  json.Key("notes").BeginArray();
  for (const std::string& note : notes) json.String(note);
  json.EndArray();
  json.EndObject();
  return json.Take();
}

}  // namespace

Sheet ModelSheet(const ModelSpec& model, const config::Node* record,
                 const std::vector<std::string>& notes, bool with_tensors,
                 const plan::PeftTensors* adapter) {
  const std::vector<TensorGroup> groups = GroupsOf(model);
  Sheet sheet;
  sheet.title = model.id;
  if (!notes.empty()) sheet.sections.push_back({"notes", {}, notes});
  sheet.sections.push_back(Overview(model, groups, adapter));
  if (record != nullptr) sheet.sections.push_back(CatalogueSection(*record));
  if (with_tensors) {
    SheetSection section{"tensors ({l}: layer, {e}: expert)", {}, {}};
    for (const TensorGroup& group : groups) {
      std::string text = ShapeText(group.tensor->shape);
      if (group.count > 1) text += " (" + report::WithCommas(group.count) + " times)";
      section.facts.push_back({group.name, text});
    }
    sheet.sections.push_back(std::move(section));
  }
  if (with_tensors && adapter != nullptr) {
    SheetSection section{"tensors of the adapter", {}, {}};
    for (const plan::PeftTensor& tensor : adapter->added) {
      section.facts.push_back({tensor.name, ShapeText(tensor.shape)});
    }
    sheet.sections.push_back(std::move(section));
  }
  sheet.json = ModelJson(model, groups, notes, adapter);
  return sheet;
}

}  // namespace trainfit::api
