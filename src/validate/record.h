// One measured run of a JSON Lines file, in two halves: what was run, and what was measured. A
// prediction is made from the first half alone; that is why they are two types.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/expected.h"
#include "base/units.h"
#include "config/node.h"

namespace trainfit::validate {

// What a torch user reads off a GPU.
enum class Reading : std::uint8_t { kAllocated, kReserved, kNvidiaSmi };
inline constexpr std::size_t kReadings = 3;
std::string_view Name(Reading reading);  // "allocated", "reserved", "nvidia_smi"

struct LoraSettings {
  std::optional<std::int64_t> rank;
  std::optional<double> dropout;
  std::vector<std::string> targets;  // module names, or "all-linear"
};

// What was run, as the record says it: empty or absent where it does not. Nothing measured.
struct Run {
  std::string id;
  std::string source;  // who published it
  std::string kind;    // "run"; "kernel", "phase"
  std::string task;    // "sft", "pretrain", "dpo"; empty: not said
  std::string group;   // the table that the record comes from; empty: not said
  std::string quality;
  std::string model;
  std::optional<double> params_billions;  // as the source rounds it
  config::Node arch;                      // null: the model is known by name
  std::string gpu;
  std::optional<std::int64_t> gpus;
  std::string interconnect;
  std::optional<std::int64_t> nodes;
  std::string framework;
  std::string framework_version;
  std::string method;
  std::optional<LoraSettings> lora;
  std::string precision;
  std::string precision_detail;  // of fp8: where the scales come from
  std::string quantization;
  std::string optimizer;
  config::Node parallel;
  config::Node offload;
  std::optional<std::int64_t> micro_batch;
  std::optional<std::int64_t> accumulation;
  std::optional<std::int64_t> length;  // tokens; where it varies, the longest there can be
  std::optional<bool> packing;
  std::string attention;
  std::string attention_detail;  // the same with its remark: which kernel
  std::string checkpointing;
  std::string kernels;
  config::Node settings;             // raw flags of the source
  std::optional<Bytes> host_memory;  // of a node
};

enum class Outcome : std::uint8_t { kUnknown, kFits, kOutOfMemory };

struct Measured {
  Reading reading = Reading::kNvidiaSmi;
  Bytes bytes;
};

struct Measurement {
  Outcome outcome = Outcome::kUnknown;
  // As the source calls its number: "max_allocated", …, "unknown"; empty: there is no number. An
  // unknown meaning is read as nvidia-smi: what people copy into a README is what that tool, or a
  // dashboard fed by it, shows; the sources that print torch's counters name them.
  std::string meaning;
  std::optional<Measured> peak;
  std::vector<Measured> others;  // further readings of the same run, of another kind
  std::optional<Seconds> step;   // one optimizer step
};

// What a report says about one phase: "train" fails.
struct Label {
  std::string key;
  bool fails = false;
};

struct Record {
  Run run;
  Measurement measurement;
  std::vector<Label> labels;  // of reports
};

// Errors: no object, no id, or a value of the wrong type, with its key and position. Keys that are
// not known are left alone.
Expected<Record> ReadRecord(const config::Node& node);

}  // namespace trainfit::validate
