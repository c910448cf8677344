// A config.json object read under the several names that one thing goes by.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "base/diagnostic.h"
#include "config/node.h"

namespace trainfit::readers {

// Larger than any dimension, layer count or model that exists; beyond it a file is a mistake.
constexpr std::int64_t kMaxDimension = std::int64_t{1} << 24;
constexpr std::int64_t kMaxLayers = 1024;
constexpr std::int64_t kMaxParameters = 100'000'000'000'000;

// Names of one thing, the one that wins first.
using Keys = std::initializer_list<std::string_view>;

// What was found wrong so far. Builders go on with a harmless value after an error, so that a
// reader sees all complaints at once and no builder needs an early return.
struct Complaints {
  Diagnostics errors;
  Diagnostics warnings;
};

class ConfigView {
 public:
  // `object` may be null (an absent section: every key is then absent); `place` is where complaints
  // about absent keys point to.
  ConfigView(const config::Node* object, const config::Node* place, Complaints* complaints)
      : object_(object), place_(place), complaints_(complaints) {}

  // The member of that name as a view of its own; absent, null or no object: an empty view whose
  // sizes all come from class defaults.
  ConfigView Section(std::string_view key) const;
  // An object of this file that is no member, such as an item of a list.
  ConfigView Of(const config::Node& object) const;
  // Names the configuration class whose defaults the caller passes, for messages.
  void SetClass(std::string_view class_name) { class_name_ = class_name; }
  // For parts of a model whose files rely on class defaults for main sizes ("text_config").
  void AllowDefaults() { defaults_allowed_ = true; }

  // The first of `keys` that is there and not null, or nullptr.
  const config::Node* Find(Keys keys) const;
  bool Has(std::string_view key) const { return Find({key}) != nullptr; }
  // There, and null: for the few keys where that means something else than absent.
  bool IsNull(std::string_view key) const;

  // All members of the object, in the order of the file.
  std::span<const config::Member> Members() const;

  // A main size, 1 … `max`. Absent: `class_default` with a note where defaults are allowed and
  // there is one (> 0), otherwise an error that names the key.
  std::int64_t Size(Keys keys, std::int64_t class_default = 0,
                    std::int64_t max = kMaxDimension) const;
  // A size that is commonly left out, 1 … kMaxDimension.
  std::int64_t SizeOr(Keys keys, std::int64_t fallback) const;
  // A number that may be zero, 0 … 2^40 (windows, lengths, numbers of experts).
  std::int64_t CountOr(Keys keys, std::int64_t fallback) const;
  double NumberOr(Keys keys, double fallback) const;
  bool FlagOr(Keys keys, bool fallback) const;
  std::string TextOr(Keys keys, std::string fallback) const;

  // Complains at the first of `keys` that is there, else at the object.
  void Reject(Keys keys, std::string code, std::string message, std::string suggestion = "") const;
  void Warn(Keys keys, std::string code, std::string message, std::string suggestion = "") const;
  // Rejects unless `value` is a multiple of `divisor`; the sentence names both.
  void RequireMultiple(Keys keys, std::int64_t value, std::int64_t divisor,
                       std::string_view what) const;

 private:
  struct Found {
    std::string_view key;  // empty: absent
    const config::Node* value = nullptr;
  };
  Found Search(Keys keys) const;
  SourceSpan SpanOf(Keys keys) const;
  std::int64_t Integer(const Found& found, std::int64_t min, std::int64_t max) const;
  void WarnIfTwoValues(Keys keys, std::string_view key, std::int64_t value) const;
  void ComplainMissing(Keys keys, std::int64_t class_default) const;

  const config::Node* object_;
  const config::Node* place_;
  Complaints* complaints_;
  std::string_view class_name_ = "the class";
  bool defaults_allowed_ = false;
};

}  // namespace trainfit::readers
