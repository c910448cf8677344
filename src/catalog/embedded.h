// data/ as the build puts it into the program: constant tables, nothing to set up at start.
// tools/embed_data.cc writes them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "catalog/names.h"

namespace trainfit::catalog {

constexpr std::uint16_t kNoRecord = 0xffff;

// A piece of EmbeddedData::text. Offsets instead of pointers: nothing to relocate.
struct EmbeddedText {
  std::uint32_t begin = 0;
  std::uint32_t size = 0;
};

struct EmbeddedRecord {
  EmbeddedText id;
  EmbeddedText json;              // without white space
  EmbeddedText packed;            // as in packed.h; empty for models, whose config is a tree
  std::uint16_t gpu = kNoRecord;  // of an instance: its GPU's place in the table of GPUs
};

// One name of one record. A name that fits several has a row for each.
struct EmbeddedName {
  EmbeddedText name;  // normalized
  std::uint16_t record = kNoRecord;
  bool is_id = false;
  bool is_other = false;  // a model of another name with the same tensor shapes
};

// A row of shared_names.json.
struct EmbeddedSharedName {
  EmbeddedText name;   // normalized
  EmbeddedText shown;  // as people write it
  EmbeddedText why;
  std::uint16_t assumed = kNoRecord;
  std::uint16_t first_meant = 0;  // in EmbeddedData::meant
  std::uint16_t meant_count = 0;
};

// Kernel rates of one compute capability.
struct EmbeddedRates {
  EmbeddedText capability;
  EmbeddedText packed;
};

struct EmbeddedKind {
  std::span<const EmbeddedRecord> records;     // by id
  std::span<const EmbeddedName> names;         // by name, then record
  std::span<const EmbeddedSharedName> shared;  // by name
};

struct EmbeddedData {
  std::string_view text;
  std::array<EmbeddedKind, kKinds> kinds;
  std::span<const std::uint16_t> meant;
  std::span<const EmbeddedRates> rates;  // by capability

  std::string_view Text(EmbeddedText piece) const { return text.substr(piece.begin, piece.size); }
  const EmbeddedKind& Of(Kind kind) const { return kinds[static_cast<std::size_t>(kind)]; }
};

const EmbeddedData& Embedded();

}  // namespace trainfit::catalog
