#include "memory/live_bytes.h"

#include <cstddef>

#include "base/check.h"

namespace trainfit::memory {
namespace {

using program::Event;
using program::Slot;

constexpr int kFirstPower = 14;  // 16 384 cells: enough for the tensors of a 70B model

// Places are apart: an offloaded tensor may have its slot on the host and on the GPU at once.
std::uint64_t Key(program::Place place, const Slot& slot) {
  return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(slot.frame)) << 32) |
         (static_cast<std::uint64_t>(place) << 30) |
         (static_cast<std::uint64_t>(static_cast<std::uint32_t>(slot.index)) & 0x3fffffff);
}

}  // namespace

LiveTensors::LiveTensors() : cells_(std::size_t{1} << kFirstPower), shift_(64 - kFirstPower) {
  entries_.reserve(cells_.size() / 2);
  unused_.reserve(cells_.size() / 2);
}

std::size_t LiveTensors::Home(std::uint64_t key) const {
  return static_cast<std::size_t>((key * 0x9e3779b97f4a7c15ULL) >> shift_);  // Fibonacci hashing
}

std::size_t LiveTensors::Find(std::uint64_t key) const {
  const std::size_t mask = cells_.size() - 1;
  std::size_t cell = Home(key);
  while (cells_[cell].entry >= 0 && cells_[cell].key != key) cell = (cell + 1) & mask;
  return cell;
}

void LiveTensors::Grow() {
  std::vector<Cell> old(cells_.size() * 2);
  old.swap(cells_);
  --shift_;
  for (const Cell& cell : old) {
    if (cell.entry >= 0) cells_[Find(cell.key)] = cell;
  }
}

// Pulls later members of the same run of cells forward, so that no tombstones are left.
void LiveTensors::EraseCell(std::size_t hole) {
  const std::size_t mask = cells_.size() - 1;
  --used_;
  for (std::size_t cell = (hole + 1) & mask; cells_[cell].entry >= 0; cell = (cell + 1) & mask) {
    const std::size_t home = Home(cells_[cell].key);
    if (((cell - home) & mask) < ((cell - hole) & mask)) continue;  // would move before its home
    cells_[hole] = cells_[cell];
    hole = cell;
  }
  cells_[hole].entry = -1;
}

LiveTensor& LiveTensors::Insert(const Event& event) {
  if (2 * (used_ + 1) > cells_.size()) Grow();
  const std::uint64_t key = Key(event.place, event.slot);
  Cell& cell = cells_[Find(key)];
  CHECK(cell.entry < 0) << "'" << event.label << "' is allocated in frame " << event.slot.frame
                        << ", slot " << event.slot.index << ", where a tensor is live already";
  std::int32_t id = static_cast<std::int32_t>(entries_.size());
  if (unused_.empty()) {
    entries_.emplace_back();
  } else {
    id = unused_.back();
    unused_.pop_back();
  }
  cell = {key, id};
  ++used_;
  LiveTensor& tensor = entries_[static_cast<std::size_t>(id)];
  tensor.requested = event.bytes;
  tensor.block = -1;
  tensor.place = event.place;
  tensor.role = event.role;
  tensor.label = event.label;
  tensor.live = true;
  return tensor;
}

LiveTensor LiveTensors::Remove(const Event& event) {
  const std::size_t cell = Find(Key(event.place, event.slot));
  const std::int32_t id = cells_[cell].entry;
  CHECK(id >= 0) << "'" << event.label << "' is freed in frame " << event.slot.frame << ", slot "
                 << event.slot.index << ", where no tensor is live";
  LiveTensor& tensor = entries_[static_cast<std::size_t>(id)];
  CHECK(tensor.requested == event.bytes)
      << "'" << event.label << "' is freed with " << event.bytes.value()
      << " bytes but was allocated with " << tensor.requested.value();
  EraseCell(cell);
  tensor.live = false;
  unused_.push_back(id);
  return tensor;
}

void LiveTensors::Move(const Event& event) {
  const std::size_t old = Find(Key(event.place, event.slot));
  const std::int32_t id = cells_[old].entry;
  CHECK(id >= 0) << "'" << event.label << "' is moved from frame " << event.slot.frame << ", slot "
                 << event.slot.index << ", where no tensor is live";
  EraseCell(old);
  const std::uint64_t key = Key(event.place, event.to);
  Cell& cell = cells_[Find(key)];
  CHECK(cell.entry < 0) << "'" << event.label << "' is moved to frame " << event.to.frame
                        << ", slot " << event.to.index << ", where a tensor is live already";
  cell = {key, id};
  ++used_;
  LiveTensor& tensor = entries_[static_cast<std::size_t>(id)];
  tensor.role = event.role;  // a gradient that is handed over changes what it is for
  tensor.label = event.label;
}

}  // namespace trainfit::memory
