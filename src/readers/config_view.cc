#include "readers/config_view.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/nearest_word.h"

namespace trainfit::readers {
namespace {

using config::Node;
using config::NodeKind;

constexpr std::int64_t kMaxCount = std::int64_t{1} << 40;

// `expected` or, when it failed, the harmless value; the errors move to `errors`.
template <typename T>
T Take(Expected<T> expected, T harmless, Diagnostics* errors) {
  if (expected.has_value()) return std::move(expected).value();
  for (Diagnostic& error : expected.error()) errors->push_back(std::move(error));
  return harmless;
}

}  // namespace

ConfigView ConfigView::Section(std::string_view key) const {
  const Node* node = Find({key});
  if (node != nullptr && node->kind != NodeKind::kObject) {
    Reject({key}, "wrong-type", fmt::format("\"{}\" must be an object", key));
    node = nullptr;
  }
  ConfigView view(node, node != nullptr ? node : place_, complaints_);
  view.class_name_ = class_name_;
  view.defaults_allowed_ = defaults_allowed_;
  return view;
}

ConfigView ConfigView::Of(const Node& object) const {
  const bool is_object = object.kind == NodeKind::kObject;
  ConfigView view(is_object ? &object : nullptr, &object, complaints_);
  if (!is_object) view.Reject({}, "wrong-type", "an object is expected here");
  view.class_name_ = class_name_;
  view.defaults_allowed_ = defaults_allowed_;
  return view;
}

ConfigView::Found ConfigView::Search(Keys keys) const {
  if (object_ == nullptr) return {};
  for (std::string_view key : keys) {
    const Node* node = object_->Find(key);
    if (node != nullptr && node->kind != NodeKind::kNull) return {key, node};
  }
  return {};
}

const Node* ConfigView::Find(Keys keys) const { return Search(keys).value; }

bool ConfigView::IsNull(std::string_view key) const {
  const Node* node = object_ == nullptr ? nullptr : object_->Find(key);
  return node != nullptr && node->kind == NodeKind::kNull;
}

std::span<const config::Member> ConfigView::Members() const {
  if (object_ == nullptr) return {};
  return object_->members;
}

std::int64_t ConfigView::Integer(const Found& found, std::int64_t min, std::int64_t max) const {
  return Take(config::GetInt(*object_, found.key, min, max), min, &complaints_->errors);
}

std::int64_t ConfigView::Size(Keys keys, std::int64_t class_default, std::int64_t max) const {
  const Found found = Search(keys);
  if (found.value == nullptr) {
    ComplainMissing(keys, class_default);
    return class_default > 0 ? class_default : 1;
  }
  const std::int64_t value = Integer(found, 1, max);
  WarnIfTwoValues(keys, found.key, value);
  return value;
}

std::int64_t ConfigView::SizeOr(Keys keys, std::int64_t fallback) const {
  const Found found = Search(keys);
  return found.value == nullptr ? fallback : Integer(found, 1, kMaxDimension);
}

std::int64_t ConfigView::CountOr(Keys keys, std::int64_t fallback) const {
  const Found found = Search(keys);
  return found.value == nullptr ? fallback : Integer(found, 0, kMaxCount);
}

double ConfigView::NumberOr(Keys keys, double fallback) const {
  const Found found = Search(keys);
  if (found.value == nullptr) return fallback;
  return Take(config::GetDouble(*object_, found.key, -1e30, 1e30), fallback, &complaints_->errors);
}

bool ConfigView::FlagOr(Keys keys, bool fallback) const {
  const Found found = Search(keys);
  if (found.value == nullptr) return fallback;
  return Take(config::GetBoolOr(*object_, found.key, fallback), fallback, &complaints_->errors);
}

std::string ConfigView::TextOr(Keys keys, std::string fallback) const {
  const Found found = Search(keys);
  if (found.value == nullptr) return fallback;
  return Take(config::GetString(*object_, found.key), std::move(fallback), &complaints_->errors);
}

SourceSpan ConfigView::SpanOf(Keys keys) const {
  const Node* node = Find(keys);
  if (node == nullptr) node = place_;
  return node != nullptr ? node->Span() : SourceSpan{};
}

void ConfigView::Reject(Keys keys, std::string code, std::string message,
                        std::string suggestion) const {
  complaints_->errors.push_back(
      ErrorAt(SpanOf(keys), std::move(code), std::move(message), std::move(suggestion)));
}

void ConfigView::Warn(Keys keys, std::string code, std::string message,
                      std::string suggestion) const {
  Diagnostic warning =
      ErrorAt(SpanOf(keys), std::move(code), std::move(message), std::move(suggestion));
  warning.severity = Severity::kWarning;
  complaints_->warnings.push_back(std::move(warning));
}

void ConfigView::RequireMultiple(Keys keys, std::int64_t value, std::int64_t divisor,
                                 std::string_view what) const {
  if (divisor > 0 && value % divisor == 0) return;
  Reject(keys, "not-a-multiple",
         fmt::format("{}: {} is not a multiple of {}", what, value, divisor));
}

void ConfigView::WarnIfTwoValues(Keys keys, std::string_view key, std::int64_t value) const {
  for (std::string_view other : keys) {
    if (other == key) continue;
    const Node* node = object_->Find(other);
    if (node == nullptr || node->kind != NodeKind::kInt || node->integer == value) continue;
    Warn({other}, "two-values",
         fmt::format("\"{}\" is {} but \"{}\" is {}: two names of one size; {} is used", key, value,
                     other, node->integer, value));
  }
}

void ConfigView::ComplainMissing(Keys keys, std::int64_t class_default) const {
  const std::string_view key = *keys.begin();
  if (defaults_allowed_ && class_default > 0) {
    Diagnostic note = ErrorAt(SpanOf({}), "class-default",
                              fmt::format("\"{}\" is not in the file: {}, the default of {}", key,
                                          class_default, class_name_));
    note.severity = Severity::kNote;
    complaints_->warnings.push_back(std::move(note));
    return;
  }
  std::string suggestion;
  if (object_ != nullptr) {
    std::vector<std::string> present;
    present.reserve(object_->members.size());
    for (const config::Member& member : object_->members) present.push_back(member.key);
    const std::string near = NearestWord(key, present);
    if (!near.empty()) suggestion = fmt::format("\"{}\" instead of \"{}\"", key, near);
  }
  Diagnostic error = ErrorAt(SpanOf({}), "missing-key", fmt::format("\"{}\" is missing", key),
                             std::move(suggestion));
  if (class_default > 0) {
    error.notes.push_back(
        fmt::format("transformers would take {} here, the default of {}, which is hardly meant",
                    class_default, class_name_));
  }
  complaints_->errors.push_back(std::move(error));
}

}  // namespace trainfit::readers
