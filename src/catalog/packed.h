// Records in the form in which the build puts them into the program: bytes in the order of Visit.
//
// Reading JSON takes 25 us a record, which is too long for a survey of all GPUs and offers inside a
// 10 ms answer. So the one JSON reader (records.h) runs while the project is built, and the program
// unpacks its results. A new field of a record needs a line in Visit, nothing else.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catalog/records.h"
#include "spec/kernel_rates.h"
#include "spec/link.h"
#include "spec/machine.h"

namespace trainfit::catalog {

// Names every field once. `Io` packs or unpacks what it is called with.
template <typename Io>
void Visit(Io& io, GpuRecord& record) {
  spec::Gpu& gpu = record.gpu;
  io(gpu.id, gpu.name, gpu.vendor, gpu.architecture, gpu.compute_capability);
  io(gpu.memory_usable, gpu.memory_usable_basis, gpu.memory_printed, gpu.memory_bandwidth);
  io(gpu.bf16, gpu.fp16, gpu.fp8, gpu.tf32, gpu.fp32, gpu.sm_count);
  io(gpu.l2, gpu.power_w, gpu.boost_mhz);
  io(gpu.nvlink_bidirectional, gpu.pcie, gpu.supports_bf16, gpu.supports_peer_access, gpu.form);
  io(gpu.gpu_to_gpu_link, gpu.bridged_gpus, gpu.host_link);
  io(gpu.sources, record.devices_per_card, record.printed_gb, record.usable_by_rule);
}

template <typename Io>
void Visit(Io& io, spec::KernelRates& rates) {
  io(rates.id, rates.basis, rates.gemm, rates.gemm_ramp, rates.gemm_small_tile);
  io(rates.gemm_bandwidth, rates.gemm_pj_per_flop, rates.bandwidth, rates.launch_floor_us);
  io(rates.sigma);
  for (spec::AttentionRates* of : {&rates.attention_forward, &rates.attention_backward}) {
    io(of->share, of->ramp, of->tail);
  }
}

template <typename Io>
void Visit(Io& io, InstanceRecord& record) {
  spec::Offer& offer = record.offer;
  io(offer.id, offer.provider, offer.gpu_id, offer.gpus, offer.sizes, offer.price);
  io(offer.spot_price);
  io(offer.price_date, offer.tier, offer.region, offer.host_memory, offer.local_disk, offer.cpus);
  io(offer.intra_node_link, offer.host_link, offer.between_nodes_link, offer.network_gbit_per_s);
  io(offer.network_ports, offer.source);
  io(record.sold_per_gpu, record.systems, record.ram_is_gpu_memory, record.notes);
}

template <typename Io>
void Visit(Io& io, spec::Link& link) {
  io(link.id, link.name, link.kind, link.scope, link.per, link.one_way, link.copy, link.host_copy);
  io(link.all_reduce_bus, link.all_reduce_condition, link.latency, link.achieved_basis);
  io(link.confidence, link.sources);
}

class Packer {
 public:
  template <typename... Fields>
  void operator()(const Fields&... fields) {
    (Add(fields), ...);
  }
  std::string Take() { return std::move(bytes_); }

 private:
  // Low byte first, on every machine.
  void Add(std::uint64_t value) {
    for (int byte = 0; byte < 8; ++byte) bytes_ += static_cast<char>(value >> (8 * byte) & 0xff);
  }
  void Add(std::int64_t value) { Add(static_cast<std::uint64_t>(value)); }
  void Add(bool value) { bytes_ += value ? '\1' : '\0'; }
  void Add(Basis value) { bytes_ += static_cast<char>(value); }
  void Add(double value) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    Add(bits);
  }
  // Texts are shorter than 64 KiB: sources, notes, names.
  void Add(const std::string& text) {
    bytes_ += static_cast<char>(text.size() & 0xff);
    bytes_ += static_cast<char>(text.size() >> 8 & 0xff);
    bytes_ += text;
  }
  template <typename Dim>
  void Add(const Quantity<Dim>& value) {
    Add(value.value());
  }
  void Add(Bytes value) { Add(value.value()); }
  template <typename T>
  void Add(const std::optional<T>& value) {
    Add(value.has_value());
    if (value) Add(*value);
  }
  template <typename T>
  void Add(const std::vector<T>& values) {
    Add(static_cast<std::uint64_t>(values.size()));
    for (const T& value : values) Add(value);
  }

  std::string bytes_;
};

// Takes back what a Packer wrote in the same order. The bytes come from the build, so that they
// are not checked beyond staying inside them.
class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : bytes_(bytes) {}

  template <typename... Fields>
  void operator()(Fields&... fields) {
    (Take(&fields), ...);
  }

 private:
  std::string_view Next(std::size_t count) {
    const std::string_view next = bytes_.substr(0, count);
    bytes_.remove_prefix(next.size());
    return next;
  }
  std::uint64_t Number(std::size_t bytes) {
    std::uint64_t value = 0;
    const std::string_view next = Next(bytes);
    for (std::size_t i = next.size(); i-- > 0;) {
      value = value << 8 | static_cast<unsigned char>(next[i]);
    }
    return value;
  }
  void Take(std::int64_t* value) { *value = static_cast<std::int64_t>(Number(8)); }
  void Take(bool* value) { *value = Number(1) != 0; }
  void Take(Basis* value) { *value = static_cast<Basis>(Number(1)); }
  void Take(double* value) {
    const std::uint64_t bits = Number(8);
    std::memcpy(value, &bits, sizeof(bits));
  }
  void Take(std::string* text) { *text = Next(Number(2)); }
  template <typename Dim>
  void Take(Quantity<Dim>* value) {
    double number = 0;
    Take(&number);
    *value = Quantity<Dim>(number);
  }
  void Take(Bytes* value) {
    std::int64_t number = 0;
    Take(&number);
    *value = Bytes(number);
  }
  template <typename T>
  void Take(std::optional<T>* value) {
    bool has_value = false;
    Take(&has_value);
    if (has_value) Take(&value->emplace());
  }
  template <typename T>
  void Take(std::vector<T>* values) {
    values->resize(Number(8));
    for (T& value : *values) Take(&value);
  }

  std::string_view bytes_;
};

template <typename Record>
std::string Pack(Record record) {
  Packer packer;
  Visit(packer, record);
  return packer.Take();
}

template <typename Record>
Record Unpack(std::string_view bytes) {
  Record record;
  Unpacker unpacker(bytes);
  Visit(unpacker, record);
  return record;
}

}  // namespace trainfit::catalog
