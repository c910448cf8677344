// The tensors that are live during a walk, by the name a program gives them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"
#include "program/event.h"

namespace trainfit::memory {

// One allocation that was not freed yet.
struct LiveTensor {
  Bytes requested;
  Bytes counted;            // as its place counts it: rounded to 512 on the GPU
  std::int32_t block = -1;  // of the replayed allocator; -1: not replayed
  program::Place place = program::Place::kGpu;
  program::Role role = program::Role::kTemporary;
  const char* label = "";
  bool live = false;
};

// (place, frame, slot) → tensor, open addressing with backward-shift deletion: a step of a 70B
// model does 50 000 look-ups, and none of them may cost more than a cache miss.
class LiveTensors {
 public:
  LiveTensors();

  // Programmer errors, with the label in the sentence: a slot that is taken, a slot that is not
  // there, other bytes than were allocated.
  LiveTensor& Insert(const program::Event& event);
  LiveTensor Remove(const program::Event& event);
  void Move(const program::Event& event);

  // All entries, dead ones (`live` false) among them.
  std::span<const LiveTensor> entries() const { return entries_; }

 private:
  struct Cell {
    std::uint64_t key = 0;
    std::int32_t entry = -1;  // -1: empty
  };

  std::size_t Home(std::uint64_t key) const;
  std::size_t Find(std::uint64_t key) const;  // the cell of the key, or the empty one it would get
  void EraseCell(std::size_t cell);
  void Grow();

  std::vector<Cell> cells_;  // a power of two of them, at most half of them used
  int shift_ = 0;
  std::size_t used_ = 0;
  std::vector<LiveTensor> entries_;
  std::vector<std::int32_t> unused_;
};

}  // namespace trainfit::memory
