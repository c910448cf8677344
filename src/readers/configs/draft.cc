#include "readers/configs/draft.h"

#include <fmt/format.h>

#include <cstddef>
#include <utility>

#include "base/text.h"

namespace trainfit::readers {
namespace {

std::string Place(const Said& said) {
  if (said.span.line == 0) return said.span.file;
  return fmt::format("{}:{}:{}", said.span.file, said.span.line, said.span.column);
}

}  // namespace

bool Said::SaysTheSame(const Said& other) const {
  return count == other.count && flag == other.flag && fraction == other.fraction &&
         word == other.word && names == other.names;
}

std::string Said::Text() const {
  if (!names.empty()) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
  }
  if (!word.empty()) return word;
  if (fraction != 0) return fmt::format("{}", fraction);
  if (count != 0) return fmt::format("{}", count);
  return flag ? "on" : "off";
}

std::string_view Name(KeyFate fate) {
  switch (fate) {
    case KeyFate::kUnderstood:
      return "understood";
    case KeyFate::kDefault:
      return "default";
    case KeyFate::kNoEffect:
      return "no_effect";
    case KeyFate::kNotCounted:
      return "not_counted";
    case KeyFate::kUnknown:
      return "unknown";
  }
  return "";
}

const Said* Draft::Find(Term term) const {
  const std::optional<Said>& said = said_.at(static_cast<std::size_t>(term));
  return said ? &*said : nullptr;
}

bool Draft::Flag(Term term) const {
  const Said* said = Find(term);
  return said != nullptr && said->flag;
}

std::string_view Draft::Word(Term term) const {
  const Said* said = Find(term);
  return said == nullptr ? std::string_view() : std::string_view(said->word);
}

std::optional<std::int64_t> Draft::Count(Term term) const {
  const Said* said = Find(term);
  return said == nullptr ? std::nullopt : std::optional(said->count);
}

void Draft::Say(Term term, Said said) {
  std::optional<Said>& slot = said_.at(static_cast<std::size_t>(term));
  if (slot && !slot->is_default && !slot->SaysTheSame(said)) {
    Diagnostic warning =
        ErrorAt(said.span, "conflict",
                fmt::format("{}: {} here, but {} in {} ({}); the later one counts", Name(term),
                            CutToWidth(said.Text(), 40), CutToWidth(slot->Text(), 40), Place(*slot),
                            slot->key));
    Warn(std::move(warning));
  }
  if (slot && slot->is_default) {
    std::erase_if(filled_in_, [term](const FilledIn& row) { return row.what == Name(term); });
  }
  slot = std::move(said);
}

void Draft::Default(Term term, Said said) {
  std::optional<Said>& slot = said_.at(static_cast<std::size_t>(term));
  if (slot) return;
  said.is_default = true;
  filled_in_.push_back({std::string(Name(term)), said.Text(), said.source});
  slot = std::move(said);
}

void Draft::Mean(Term term, Said said) {
  std::optional<Said>& slot = said_.at(static_cast<std::size_t>(term));
  if (slot) {
    said.span = slot->span;
    said.key = slot->key;
    said.is_default = slot->is_default;
  }
  slot = std::move(said);
}

void Draft::Forget(Term term) { said_.at(static_cast<std::size_t>(term)).reset(); }

void Draft::LeaveToPartner(Term term, const std::string& key, SourceSpan span) {
  left_.push_back({term, key, std::move(span)});
}

void Draft::Refuse(SourceSpan span, const std::string& key, std::string_view what) {
  Complain(ErrorAt(std::move(span), "not-simulated",
                   fmt::format("{}: {} cannot be simulated yet", Printable(key), what)));
}

void Draft::Warn(Diagnostic diagnostic) {
  diagnostic.severity = Severity::kWarning;
  warnings_.push_back(std::move(diagnostic));
}

Said SaidCount(std::int64_t value, std::string_view tool, std::string_view source) {
  Said said;
  said.count = value;
  said.tool = tool;
  said.source = source;
  return said;
}

Said SaidFlag(bool value, std::string_view tool, std::string_view source) {
  Said said;
  said.flag = value;
  said.tool = tool;
  said.source = source;
  return said;
}

Said SaidWord(std::string_view value, std::string_view tool, std::string_view source) {
  Said said;
  said.word = value;
  said.tool = tool;
  said.source = source;
  return said;
}

}  // namespace trainfit::readers
