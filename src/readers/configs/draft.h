// What several files have said so far, term by term, and where.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "config/node.h"
#include "readers/configs/terms.h"

namespace trainfit::readers {

// One value of one term. Which member holds it follows from the term's kind.
struct Said {
  std::int64_t count = 0;
  bool flag = false;
  double fraction = 0;
  std::string word;
  std::vector<std::string> names;

  std::string key;   // as the file has it; of a default: empty
  SourceSpan span;   // of the value
  std::string tool;  // "axolotl"
  bool is_default = false;
  std::string source;  // of a default: where it was read

  // Equal in what they say, wherever it stands.
  bool SaysTheSame(const Said& other) const;
  std::string Text() const;
};

// A default that a tool fills in, for the answer's list.
struct FilledIn {
  std::string what;
  std::string value;
  std::string source;
};

// How a key of a file was taken.
enum class KeyFate : std::uint8_t {
  kUnderstood,
  kDefault,     // says what would be so anyway
  kNoEffect,    // known, without effect on memory
  kNotCounted,  // known; what it does to memory is not modelled
  kUnknown,     // the tool has no such key
};
std::string_view Name(KeyFate fate);

struct KeyUse {
  std::string key;
  std::string value;  // as written, shortened
  KeyFate fate = KeyFate::kUnderstood;
  std::string note;             // what it was taken for, or the nearest known key
  SourceSpan span;              // of the key
  Term term = Term::kNone;      // that it states
  std::string tool;             // the dialect's name
  std::size_t value_begin = 0;  // bytes of the file
  std::size_t value_end = 0;
};

class Draft {
 public:
  const Said* Find(Term term) const;
  bool Has(Term term) const { return Find(term) != nullptr; }
  bool Flag(Term term) const;  // false when nobody said it
  std::string_view Word(Term term) const;
  std::optional<std::int64_t> Count(Term term) const;

  // What a file states. A different value of an earlier file is overridden, and the conflict noted.
  void Say(Term term, Said said);
  // What a tool does when no file says otherwise.
  void Default(Term term, Said said);
  // Replaces a word or flag by what it means, keeping its place.
  void Mean(Term term, Said said);
  void Forget(Term term);

  // "auto": the value of the partner file is meant.
  void LeaveToPartner(Term term, const std::string& key, SourceSpan span);
  struct Left {
    Term term = Term::kNone;
    std::string key;
    SourceSpan span;
  };
  const std::vector<Left>& left() const { return left_; }

  void AddKey(KeyUse use) { keys_.push_back(std::move(use)); }
  std::vector<KeyUse>& keys() { return keys_; }
  void Refuse(SourceSpan span, const std::string& key, std::string_view what);
  void Complain(Diagnostic diagnostic) { problems_.push_back(std::move(diagnostic)); }
  void Warn(Diagnostic diagnostic);
  Diagnostics& problems() { return problems_; }
  Diagnostics& warnings() { return warnings_; }
  std::vector<FilledIn>& filled_in() { return filled_in_; }

 private:
  std::array<std::optional<Said>, kTerms> said_;
  std::vector<Left> left_;
  std::vector<KeyUse> keys_;
  Diagnostics problems_;
  Diagnostics warnings_;
  std::vector<FilledIn> filled_in_;
};

// Values for Draft::Default and Mean.
Said SaidCount(std::int64_t value, std::string_view tool, std::string_view source);
Said SaidFlag(bool value, std::string_view tool, std::string_view source);
Said SaidWord(std::string_view value, std::string_view tool, std::string_view source);

}  // namespace trainfit::readers
