#include "api/list_columns.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "base/check.h"

namespace trainfit::api {
namespace {

using catalog::Kind;
using config::Node;
using config::NodeKind;
using report::ListValue;

constexpr ColumnSpec kGpuColumns[] = {
    {.key = "id", .title = "GPU", .about = "", .path = "id", .is_usual = true},
    {.key = "name", .title = "name", .about = "", .path = "name"},
    {.key = "vendor", .title = "vendor", .about = "", .path = "vendor"},
    {.key = "architecture", .title = "family", .about = "", .path = "architecture"},
    {.key = "compute_capability", .title = "cc", .about = "", .path = "compute_capability"},
    {.key = "form", .title = "form", .about = "", .path = "form"},
    {.key = "release", .title = "release", .about = "", .path = "release"},
    {.key = "memory",
     .title = "GB",
     .about = "memory as printed",
     .path = "memory.printed_gb",
     .is_usual = true},
    {.key = "memory_kind", .title = "kind", .about = "", .path = "memory.kind"},
    {.key = "usable",
     .title = "GiB",
     .about = "what a program can allocate of it",
     .path = "",
     .digits = 1,
     .is_usual = true},
    {.key = "bandwidth",
     .title = "GB/s",
     .about = "memory bandwidth",
     .path = "memory.bandwidth_gb_per_s",
     .digits = 0,
     .is_usual = true},
    {.key = "bf16",
     .title = "BF16",
     .about = "dense TFLOPS, FP32 accumulation",
     .path = "peak.bf16_dense_tflops",
     .digits = 0,
     .is_usual = true},
    {.key = "fp16",
     .title = "FP16",
     .about = "dense TFLOPS, FP32 accumulation",
     .path = "peak.fp16_dense_tflops",
     .digits = 0},
    {.key = "tf32",
     .title = "TF32",
     .about = "dense TFLOPS",
     .path = "peak.tf32_dense_tflops",
     .digits = 0},
    {.key = "fp32",
     .title = "FP32",
     .about = "TFLOPS of the shaders, no matrix units",
     .path = "peak.fp32_vector_tflops",
     .digits = 1},
    {.key = "fp8",
     .title = "FP8",
     .about = "dense TFLOPS",
     .path = "peak.fp8_dense_tflops",
     .digits = 0},
    {.key = "measured_bf16",
     .title = "measured",
     .about = "BF16 TFLOPS of a large matrix product",
     .path = "measured.bf16_matmul_tflops",
     .digits = 0},
    {.key = "nvlink",
     .title = "fabric",
     .about = "GPU to GPU, GB/s both ways together",
     .path = "links.scale_up_both_ways_gb_per_s",
     .digits = 0},
    {.key = "gpu_link", .title = "GPU link", .about = "", .path = "links.gpu_to_gpu"},
    {.key = "host_link", .title = "host link", .about = "", .path = "links.host"},
    {.key = "power", .title = "W", .about = "board limit", .path = "power_w"},
    {.key = "launch_price", .title = "launch $", .about = "", .path = "launch_price_usd"},
    {.key = "price",
     .title = "$/h",
     .about = "the least known price of one, on demand",
     .path = "",
     .digits = 2,
     .is_usual = true,
     .is_price = true},
    {.key = "price_per_gib",
     .title = "$/GiB",
     .about = "an hour of a usable GiB",
     .path = "",
     .digits = 3,
     .is_usual = true},
    {.key = "price_per_pflop_hour",
     .title = "$/PF",
     .about = "an hour of 1 PFLOPS dense BF16 at peak",
     .path = "",
     .digits = 2,
     .is_usual = true},
    {.key = "price_per_delivered_pflop_hour",
     .title = "$/PF real",
     .about = "the same at the rate that large matrix products reach",
     .path = "",
     .digits = 2},
    {.key = "bandwidth_per_dollar",
     .title = "GB/s/$",
     .about = "memory bandwidth that a dollar an hour buys",
     .path = "",
     .digits = 0,
     .is_usual = true},
    {.key = "offer", .title = "offer", .about = "", .path = ""},
    {.key = "price_date", .title = "read", .about = "", .path = ""},
    {.key = "price_is_old", .title = "old", .about = "", .path = ""},
    {.key = "confidence", .title = "confidence", .about = "", .path = "confidence"},
    {.key = "as_of", .title = "as of", .about = "", .path = "as_of"},
};

constexpr ColumnSpec kInstanceColumns[] = {
    {.key = "id", .title = "machine", .about = "", .path = "id", .is_usual = true},
    {.key = "provider", .title = "provider", .about = "", .path = "provider"},
    {.key = "tier", .title = "tier", .about = "", .path = "tier"},
    {.key = "gpu", .title = "GPU", .about = "", .path = "gpu"},
    {.key = "gpus", .title = "GPUs", .about = "", .path = "gpu_count", .is_usual = true},
    {.key = "sold_per_gpu", .title = "by GPU", .about = "one GPU of a larger machine", .path = ""},
    {.key = "usable",
     .title = "GiB",
     .about = "GPU memory that programs can allocate, all GPUs",
     .path = "",
     .digits = 0,
     .is_usual = true},
    {.key = "vcpus", .title = "vCPUs", .about = "", .path = "host.vcpus"},
    {.key = "host_memory",
     .title = "GiB RAM",
     .about = "",
     .path = "",
     .digits = 0,
     .is_usual = true},
    {.key = "disk", .title = "disk GB", .about = "", .path = "host.local_disk_gb"},
    {.key = "network",
     .title = "Gbit/s",
     .about = "network of the machine",
     .path = "network.gbit_per_s",
     .is_usual = true},
    {.key = "gpu_link", .title = "GPU link", .about = "", .path = "links.gpu_to_gpu"},
    {.key = "node_link", .title = "node link", .about = "", .path = "network.node_to_node"},
    {.key = "price",
     .title = "$/h",
     .about = "whole machine, on demand",
     .path = "price.on_demand_usd_per_hour",
     .digits = 2,
     .is_usual = true,
     .is_price = true},
    {.key = "spot_price",
     .title = "spot $/h",
     .about = "",
     .path = "price.spot_usd_per_hour",
     .digits = 2,
     .is_price = true},
    {.key = "price_per_gpu",
     .title = "$/GPU",
     .about = "",
     .path = "",
     .digits = 2,
     .is_usual = true},
    {.key = "price_per_gib",
     .title = "$/GiB",
     .about = "an hour of a usable GiB of the GPUs",
     .path = "",
     .digits = 3},
    {.key = "price_per_pflop_hour",
     .title = "$/PF",
     .about = "an hour of 1 PFLOPS dense BF16 at peak",
     .path = "",
     .digits = 2,
     .is_usual = true},
    {.key = "price_per_delivered_pflop_hour",
     .title = "$/PF real",
     .about = "the same at the rate that large matrix products reach",
     .path = "",
     .digits = 2},
    {.key = "bandwidth_per_dollar",
     .title = "GB/s/$",
     .about = "memory bandwidth that a dollar an hour buys",
     .path = "",
     .digits = 0},
    {.key = "region", .title = "region", .about = "", .path = "price.region"},
    {.key = "price_date", .title = "read", .about = "", .path = "price.date"},
    {.key = "price_is_old", .title = "old", .about = "", .path = ""},
    {.key = "confidence", .title = "confidence", .about = "", .path = "price.confidence"},
    {.key = "as_of", .title = "as of", .about = "", .path = "as_of"},
};

constexpr ColumnSpec kLinkColumns[] = {
    {.key = "id", .title = "link", .about = "", .path = "id", .is_usual = true},
    {.key = "name", .title = "name", .about = "", .path = "name"},
    {.key = "kind", .title = "kind", .about = "", .path = "kind"},
    {.key = "scope", .title = "joins", .about = "", .path = "scope", .is_usual = true},
    {.key = "per", .title = "per", .about = "", .path = "per", .is_usual = true},
    {.key = "one_way",
     .title = "GB/s",
     .about = "nominal, one way",
     .path = "nominal.one_way_gb_per_s",
     .is_usual = true},
    {.key = "both_ways", .title = "both ways", .about = "", .path = "nominal.both_ways_gb_per_s"},
    {.key = "copy",
     .title = "copy",
     .about = "achieved GPU to GPU, GB/s one way",
     .path = "achieved.copy_gb_per_s",
     .is_usual = true},
    {.key = "host_copy",
     .title = "host",
     .about = "achieved to pinned host memory, GB/s one way",
     .path = "achieved.host_copy_gb_per_s",
     .is_usual = true},
    {.key = "all_reduce",
     .title = "all-reduce",
     .about = "achieved bus bandwidth of NCCL, GB/s",
     .path = "achieved.all_reduce_bus_gb_per_s",
     .is_usual = true},
    {.key = "latency",
     .title = "µs",
     .about = "small messages",
     .path = "achieved.latency_us",
     .is_usual = true},
    {.key = "basis", .title = "basis", .about = "", .path = "achieved.basis"},
    {.key = "confidence", .title = "confidence", .about = "", .path = "confidence"},
    {.key = "as_of", .title = "as of", .about = "", .path = "as_of"},
};

constexpr ColumnSpec kModelColumns[] = {
    {.key = "id", .title = "model", .about = "", .path = "id", .is_usual = true},
    {.key = "model_type",
     .title = "type",
     .about = "",
     .path = "config.model_type",
     .is_usual = true},
    {.key = "params", .title = "parameters", .about = "", .path = "params", .is_usual = true},
    {.key = "active_params", .title = "active", .about = "", .path = ""},
    {.key = "tied_embeddings", .title = "tied", .about = "", .path = "tied_embeddings"},
    {.key = "params_check", .title = "checked", .about = "", .path = "params_check"},
    {.key = "license", .title = "license", .about = "", .path = "license", .is_usual = true},
    {.key = "source", .title = "source", .about = "", .path = "source"},
    {.key = "as_of", .title = "as of", .about = "", .path = "as_of"},
};

}  // namespace

std::span<const ColumnSpec> ColumnsOf(Kind kind) {
  switch (kind) {
    case Kind::kGpu:
      return kGpuColumns;
    case Kind::kInstance:
      return kInstanceColumns;
    case Kind::kLink:
      return kLinkColumns;
    case Kind::kModel:
      return kModelColumns;
  }
  return {};
}

const Node* At(const Node& record, std::string_view path) {
  const Node* node = &record;
  while (node != nullptr && !path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    node = node->Find(path.substr(0, dot));
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return node;
}

ListValue ValueOf(const Node* node) {
  if (node == nullptr) return {};
  switch (node->kind) {
    case NodeKind::kBool:
      return node->boolean;
    case NodeKind::kInt:
      return node->integer;
    case NodeKind::kDouble:
      return node->real;
    case NodeKind::kString:
      return node->text;
    default:
      return {};
  }
}

RowBuilder::RowBuilder(Kind kind, const Node& record) : columns_(ColumnsOf(kind)) {
  for (const ColumnSpec& column : columns_) {
    const std::string_view path = column.path;
    row_.values.push_back(path.empty() ? ListValue() : ValueOf(At(record, path)));
  }
}

std::size_t RowBuilder::Place(std::string_view key) const {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].key == key) return i;
  }
  CHECK(false) << "no column of that key: " << std::string(key);
  return 0;
}

void RowBuilder::Set(std::string_view key, ListValue value) {
  row_.values[Place(key)] = std::move(value);
}

std::optional<double> RowBuilder::Number(std::string_view key) const {
  const ListValue& value = row_.values[Place(key)];
  if (const auto* count = std::get_if<std::int64_t>(&value)) return static_cast<double>(*count);
  if (const auto* number = std::get_if<double>(&value)) return *number;
  return std::nullopt;
}

}  // namespace trainfit::api
