#include "validate/record.h"

#include <array>
#include <cmath>
#include <utility>

namespace trainfit::validate {
namespace {

using config::Node;
using config::NodeKind;

constexpr std::int64_t kMostCount = std::int64_t{1} << 40;
constexpr double kMostBytes = 1e15;

class RecordReader {
 public:
  explicit RecordReader(const Node& node) : node_(node), inferred_(Object("inferred")) {}

  Expected<Record> Read() {
    Record record;
    record.run = ReadRun();
    record.measurement = ReadMeasurement();
    record.labels = ReadLabels();
    if (errors_.empty() && record.run.id.empty()) {
      errors_.push_back(ErrorAt(node_.Span(), "no-id", "a record needs an \"id\""));
    }
    if (!errors_.empty()) return Fail(std::move(errors_));
    return record;
  }

 private:
  template <typename T>
  T Take(Expected<T> value, T fallback) {
    if (value.has_value()) return std::move(*value);
    for (Diagnostic& error : value.error()) errors_.push_back(std::move(error));
    return fallback;
  }

  static const Node* Present(const Node& object, std::string_view key) {
    const Node* node = object.Find(key);
    return node == nullptr || node->kind == NodeKind::kNull ? nullptr : node;
  }

  Node Object(std::string_view key) {
    const Node* node = Present(node_, key);
    if (node == nullptr) return {};
    if (node->kind == NodeKind::kObject) return *node;
    errors_.push_back(ErrorAt(node->Span(), "wrong-type",
                              "\"" + std::string(key) + "\" is " + std::string(Name(node->kind)) +
                                  "; it must be an object"));
    return {};
  }

  std::string Text(std::string_view key) {
    return Take(config::GetStringOr(node_, key, ""), std::string());
  }

  // The value of the record, or the one that its reader filled in.
  std::optional<std::int64_t> Count(std::string_view key) {
    if (Present(node_, key) != nullptr) {
      return Take<std::int64_t>(config::GetInt(node_, key, 1, kMostCount), 1);
    }
    const Node* node = Present(inferred_, key);
    if (node == nullptr || node->kind != NodeKind::kInt || node->integer < 1) return std::nullopt;
    return node->integer;
  }

  // What was filled in is a word only if it stands alone: the rest are sentences that give reasons.
  // A remark in brackets after a word of the record's own is for people.
  std::string Word(std::string_view key) {
    std::string text = Text(key);
    const std::size_t remark = text.find(" (");
    if (remark != std::string::npos && text.find(' ') == remark) text.resize(remark);
    if (!text.empty()) return text;
    const Node* node = Present(inferred_, key);
    if (node == nullptr || node->kind != NodeKind::kString) return "";
    return node->text.find(' ') == std::string::npos ? node->text : "";
  }

  // Padded batches differ; the longest one sets the peak.
  std::optional<std::int64_t> Length() {
    if (const auto at_peak = Count("seq_len_at_peak")) return at_peak;
    return Count("seq_len");
  }

  std::optional<LoraSettings> Lora() {
    const Node object = Object("lora");
    if (object.kind != NodeKind::kObject) return std::nullopt;
    LoraSettings lora;
    if (Present(object, "r") != nullptr) {
      lora.rank = Take<std::int64_t>(config::GetInt(object, "r", 1, kMostCount), 1);
    }
    if (Present(object, "dropout") != nullptr) {
      lora.dropout = Take(config::GetDouble(object, "dropout", 0, 1), 0.0);
    }
    const Node* targets = Present(object, "targets");
    if (targets == nullptr) return lora;
    if (targets->kind == NodeKind::kString) lora.targets.push_back(targets->text);
    for (const Node& item : targets->items) lora.targets.push_back(item.text);
    return lora;
  }

  Run ReadRun() {
    Run run;
    run.id = Text("id");
    run.source = Text("source");
    run.kind = Text("kind");
    run.task = Text("task");
    run.group = Text("group");
    run.quality = Text("quality");
    run.model = Text("model");
    if (Present(node_, "params_b") != nullptr) {
      run.params_billions = Take(config::GetDouble(node_, "params_b", 0, 1e6), 0.0);
    }
    run.arch = Object("arch");
    run.gpu = Text("gpu");
    run.gpus = Count("gpus");
    run.nodes = Count("nodes");
    run.interconnect = Text("interconnect");
    run.framework = Text("framework");
    run.framework_version = Text("framework_version");
    run.method = Word("method");
    run.lora = Lora();
    run.precision = Word("precision");
    run.precision_detail = Text("precision_detail");
    run.quantization = Word("quant");
    run.optimizer = Word("optimizer");
    run.parallel = Object("parallel");
    run.offload = Object("offload");
    run.micro_batch = Count("micro_batch");
    run.accumulation = Count("grad_accum");
    run.length = Length();
    if (Present(node_, "packing") != nullptr) {
      run.packing = Take(config::GetBoolOr(node_, "packing", false), false);
    }
    run.attention = Word("attention");
    run.attention_detail = Text("attention");
    run.checkpointing = Word("activation_checkpointing");
    run.kernels = Text("kernels");
    run.settings = Object("settings");
    // As people read it off free(1): binary units, whatever they write.
    run.host_memory = Amount(node_, "host_ram_gb", static_cast<double>(kGiB.value()));
    return run;
  }

  std::optional<Bytes> Amount(const Node& object, std::string_view key, double unit) {
    if (Present(object, key) == nullptr) return std::nullopt;
    const double value = Take(config::GetDouble(object, key, 0, kMostBytes), 0.0) * unit;
    if (!(value > 0) || value > kMostBytes) return std::nullopt;
    return Bytes(std::llround(value));
  }

  // As it is stated, else from the rate: tokens of a step over tokens a second of all GPUs.
  std::optional<Seconds> StepSeconds(const Node& measured) {
    constexpr double kMost = 1e9;
    if (!Count("gpus")) return std::nullopt;  // of how many cards nobody knows
    const auto number = [&](std::string_view key) {
      const Node* node = Present(measured, key);
      const bool is_said = node != nullptr && node->text != "NaN";  // Megatron logs NaN for none
      return is_said ? Take(config::GetDouble(measured, key, 0, kMost), 0.0) : 0.0;
    };
    if (const double step = number("step_time_s"); step > 0) return Seconds(step);
    const double rate = number("tokens_per_s_per_gpu");
    const auto batch = Count("global_batch");
    const auto length = Count("seq_len");
    const auto gpus = Count("gpus");
    if (!(rate > 0) || !batch || !length || !gpus) return std::nullopt;
    return Seconds(static_cast<double>(*batch) * static_cast<double>(*length) /
                   (rate * static_cast<double>(*gpus)));
  }

  // "ok" and "fails"; anything else is a remark.
  std::vector<Label> ReadLabels() {
    std::vector<Label> labels;
    for (const config::Member& member : Object("verdict_by_phase").members) {
      const std::string& word = member.value.text;
      if (word == "ok" || word == "fails") labels.push_back({member.key, word == "fails"});
    }
    return labels;
  }

  Measurement ReadMeasurement() {
    const Node object = Object("measured");
    Measurement measurement;
    if (object.kind != NodeKind::kObject) return measurement;
    const std::string outcome = Take(config::GetStringOr(object, "outcome", ""), std::string());
    measurement.step = StepSeconds(object);
    if (outcome == "fits") measurement.outcome = Outcome::kFits;
    if (outcome == "oom") measurement.outcome = Outcome::kOutOfMemory;
    const std::string unit = Take(config::GetStringOr(object, "memory_unit", ""), std::string());
    const double scale = unit == "GiB" ? static_cast<double>(kGiB.value()) : 1e9;
    const auto peak = Amount(object, "peak_memory_gb", scale);
    if (peak.has_value()) {
      measurement.meaning =
          Take(config::GetStringOr(object, "memory_meaning", "unknown"), std::string());
      measurement.peak = Measured{ReadingOf(measurement.meaning), *peak};
    }
    const auto add = [&](Reading reading, std::optional<Bytes> bytes) {
      const bool is_new = !measurement.peak.has_value() || measurement.peak->reading != reading;
      if (bytes.has_value() && is_new) measurement.others.push_back({reading, *bytes});
    };
    // A run that ended out of memory has no peak, whatever was last seen.
    if (measurement.outcome == Outcome::kOutOfMemory) return measurement;
    add(Reading::kAllocated, Amount(object, "peak_allocated_gb", scale));
    add(Reading::kReserved, Amount(object, "peak_reserved_gb", scale));
    add(Reading::kNvidiaSmi, Amount(object, "nvidia_smi_mib", static_cast<double>(kMiB.value())));
    return measurement;
  }

  static Reading ReadingOf(std::string_view meaning) {
    if (meaning == "max_allocated") return Reading::kAllocated;
    if (meaning == "max_reserved") return Reading::kReserved;
    return Reading::kNvidiaSmi;
  }

  const Node& node_;
  Diagnostics errors_;
  Node inferred_;
};

}  // namespace

std::string_view Name(Reading reading) {
  constexpr std::array<std::string_view, kReadings> kNames = {"allocated", "reserved",
                                                              "nvidia_smi"};
  return kNames.at(static_cast<std::size_t>(reading));
}

Expected<Record> ReadRecord(const Node& node) {
  if (node.kind != NodeKind::kObject) {
    return Fail(ErrorAt(node.Span(), "not-an-object",
                        "a record is an object, not " + std::string(config::Name(node.kind))));
  }
  return RecordReader(node).Read();
}

}  // namespace trainfit::validate
