#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/text.h"
#include "readers/configs/dialect.h"
#include "readers/configs/known_keys.h"
#include "readers/configs/value_of.h"

namespace trainfit::readers {
namespace {

using config::Member;
using config::Node;
using config::NodeKind;

bool Matches(std::string_view pattern, std::string_view path) {
  if (!pattern.ends_with('*')) return pattern == path;
  pattern.remove_suffix(1);
  return path.starts_with(pattern);
}

// Off, or nothing said.
bool IsNeutral(const Node& value) {
  switch (value.kind) {
    case NodeKind::kNull:
      return true;
    case NodeKind::kBool:
      return !value.boolean;
    case NodeKind::kInt:
    case NodeKind::kDouble:
      return value.real == 0;
    case NodeKind::kString:
      return value.text.empty() || value.text == "none" || value.text == "None" ||
             value.text == "no" || value.text == "NO" || value.text == "false" ||
             value.text == "False";
    case NodeKind::kArray:
      return value.items.empty();
    case NodeKind::kObject:
      return value.members.empty();
  }
  return false;
}

class Reader {
 public:
  Reader(const Dialect& dialect, Draft& draft)
      : dialect_(dialect), known_(dialect.known), draft_(draft) {}

  void ReadObject(const Node& object, const std::string& prefix) {
    for (const Member& member : object.members) {
      ReadKey(object, member, prefix.empty() ? member.key : prefix + "." + member.key);
    }
  }

 private:
  const KeyRow* FindRow(std::string_view path) const {
    const KeyRow* row = LongestMatch(dialect_.rows, path);
    return row != nullptr ? row : LongestMatch(dialect_.more_rows, path);
  }

  static const KeyRow* LongestMatch(std::span<const KeyRow> rows, std::string_view path) {
    const KeyRow* best = nullptr;
    for (const KeyRow& row : rows) {
      if (!Matches(row.key, path)) continue;
      if (best == nullptr || row.key.size() > best->key.size()) best = &row;
    }
    return best;
  }

  bool HasRowsBelow(const std::string& path) const {
    const std::string prefix = path + ".";
    const auto is_below = [&](const KeyRow& row) { return row.key.starts_with(prefix); };
    return std::any_of(dialect_.rows.begin(), dialect_.rows.end(), is_below) ||
           std::any_of(dialect_.more_rows.begin(), dialect_.more_rows.end(), is_below);
  }

  void Note(const Member& member, const std::string& path, KeyFate fate, std::string note,
            SourceSpan span, Term term = Term::kNone) {
    draft_.AddKey({path, ShortText(member.value), fate, std::move(note), std::move(span), term,
                   std::string(dialect_.name), member.value.begin, member.value.end});
  }

  void ReadKey(const Node& object, const Member& member, const std::string& path) {
    const KeyRow* row = FindRow(path);
    SourceSpan at = object.document == nullptr
                        ? SourceSpan{}
                        : SpanInText(object.document->name, object.document->text, member.key_begin,
                                     member.key_end);
    if (member.value.kind == NodeKind::kNull) {
      const bool is_known = row != nullptr || known_.empty() || known_.Has(path);
      return is_known ? Note(member, path, KeyFate::kDefault, "", std::move(at))
                      : Unknown(member, path, std::move(at));
    }
    const bool descends = member.value.kind == NodeKind::kObject &&
                          (row == nullptr ? HasRowsBelow(path) : row->effect == Effect::kBlock);
    if (descends) return ReadObject(member.value, path);
    if (row == nullptr) return ReadKnown(member, path, std::move(at));
    switch (row->effect) {
      case Effect::kSays:
        return Say(*row, member, path, std::move(at));
      case Effect::kRefused:
        if (IsNeutral(member.value) || known_.IsDefault(path, member.value)) {
          return Note(member, path, KeyFate::kDefault, "", std::move(at));
        }
        return draft_.Refuse(std::move(at), path, row->about);
      case Effect::kNotCounted:
        if (IsNeutral(member.value) || known_.IsDefault(path, member.value)) {
          return Note(member, path, KeyFate::kDefault, "", std::move(at));
        }
        return Note(member, path, KeyFate::kNotCounted, std::string(row->about), std::move(at));
      case Effect::kBlock:
        return Note(member, path, KeyFate::kUnderstood, "", std::move(at));
      case Effect::kNone:
      case Effect::kFree:
        return Note(member, path, KeyFate::kNoEffect, "", std::move(at));
    }
  }

  void Say(const KeyRow& row, const Member& member, const std::string& path, SourceSpan at) {
    if (member.value.kind == NodeKind::kString && member.value.text == "auto" &&
        dialect_.name == "deepspeed") {
      draft_.LeaveToPartner(row.term, path, at);
      return Note(member, path, KeyFate::kUnderstood,
                  std::string(Name(row.term)) + ", as the trainer says", std::move(at));
    }
    Expected<Said> said = ValueOf(row.term, path, member.value);
    if (!said.has_value()) {
      for (Diagnostic& problem : said.error()) draft_.Complain(std::move(problem));
      return;
    }
    said->tool = dialect_.title;
    draft_.Say(row.term, std::move(*said));
    Note(member, path, KeyFate::kUnderstood, std::string(Name(row.term)), std::move(at), row.term);
  }

  // No row: the tool's own list decides.
  void ReadKnown(const Member& member, const std::string& path, SourceSpan at) {
    if (known_.IsDefault(path, member.value)) {
      return Note(member, path, KeyFate::kDefault, "", std::move(at));
    }
    if (known_.Has(path)) {
      return Note(
          member, path, KeyFate::kNotCounted,
          "known to " + std::string(dialect_.title) + "; what it does to memory is not modelled",
          std::move(at));
    }
    Unknown(member, path, std::move(at));
  }

  void Unknown(const Member& member, const std::string& path, SourceSpan at) {
    std::string nearest = known_.Nearest(path);
    Note(member, path, KeyFate::kUnknown, std::move(nearest), std::move(at));
  }

  const Dialect& dialect_;
  const KnownKeys known_;
  Draft& draft_;
};

}  // namespace

void ApplyRows(const Dialect& dialect, const Node& root, Draft& draft) {
  Reader(dialect, draft).ReadObject(root, "");
}

int CountKeys(const Node& root, std::initializer_list<std::string_view> keys) {
  int count = 0;
  for (const std::string_view key : keys) count += root.Find(key) != nullptr ? 1 : 0;
  return count;
}

}  // namespace trainfit::readers
