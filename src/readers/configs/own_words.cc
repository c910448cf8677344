#include "readers/configs/own_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace trainfit::readers {
namespace {

// "--micro-batch 1 --gradient-accumulation 8" → its options with their values.
std::vector<std::string> Options(std::string_view change) {
  std::vector<std::string> options;
  while (!change.empty()) {
    const std::size_t next = std::min(change.find(" --", 1), change.size());
    options.emplace_back(change.substr(0, next));
    change.remove_prefix(std::min(next + 1, change.size()));
  }
  return options;
}

const FixRow* FindFix(const Dialect& dialect, std::string_view option) {
  const std::string_view name = option.substr(0, option.find(' '));
  for (const FixRow& row : dialect.fixes) {
    if (row.flag == option || (row.flag == name && row.value.empty())) return &row;
  }
  return nullptr;
}

Term TermOf(const Dialect& dialect, std::string_view key) {
  for (const auto rows : {dialect.rows, dialect.more_rows}) {
    for (const KeyRow& row : rows) {
      if (row.key == key && row.effect == Effect::kSays) return row.term;
    }
  }
  return Term::kNone;
}

// Where the file says that term already, under whatever name.
const KeyUse* FindUse(const ConfigReading& reading, const ReadFile& file, const FixRow& fix) {
  const Term term = TermOf(*file.dialect, fix.key);
  const KeyUse* found = nullptr;
  for (const KeyUse& use : reading.keys) {
    const bool is_here = use.span.file == file.path && use.tool == file.dialect->name;
    if (!is_here) continue;
    if (use.key == fix.key) return &use;
    if (fix.value.empty() && term != Term::kNone && use.term == term) found = &use;
  }
  return found;
}

std::optional<Edit> EditFor(const ConfigReading& reading, std::size_t index,
                            std::string_view option) {
  const ReadFile& file = reading.files[index];
  const FixRow* fix = FindFix(*file.dialect, option);
  if (fix == nullptr) return std::nullopt;
  Edit edit;
  edit.file = index;
  edit.key = fix->key;
  const std::size_t space = option.find(' ');
  edit.value = !fix->value.empty()               ? std::string(fix->value)
               : space == std::string_view::npos ? "true"
                                                 : std::string(option.substr(space + 1));
  const KeyUse* use = FindUse(reading, file, *fix);
  edit.is_new = use == nullptr;
  if (use != nullptr) {
    if (use->value == "auto") return std::nullopt;  // follows its partner
    edit.key = use->key;
    edit.begin = use->value_begin;
    edit.end = use->value_end;
  }
  return edit;
}

std::string Quoted(const Edit& edit) {
  const bool is_bare = edit.value == "true" || edit.value == "false" ||
                       edit.value.find_first_not_of("0123456789.") == std::string::npos;
  return is_bare ? edit.value : "\"" + edit.value + "\"";
}

std::string LineEnd(std::string_view text) {
  return text.find("\r\n") != std::string_view::npos ? "\r\n" : "\n";
}

std::string NewPiece(const ReadFile& file, const Edit& edit) {
  switch (file.syntax) {
    case Syntax::kYaml:
      return edit.key + ": " + edit.value;
    case Syntax::kJson:
      return "\"" + edit.key + "\": " + Quoted(edit);
    case Syntax::kToml:
      return edit.key + " = " + Quoted(edit);
    case Syntax::kCommand:
      return "--" + edit.key + " " + edit.value;
    case Syntax::kPython:
      return edit.key + "=" +
             (edit.value == "true"    ? "True"
              : edit.value == "false" ? "False"
                                      : Quoted(edit));
  }
  return "";
}

// Adds a key of the outermost object.
bool Insert(const ReadFile& file, const Edit& edit, std::string& text) {
  if (edit.key.find('.') != std::string::npos && file.syntax != Syntax::kCommand) return false;
  const std::string piece = NewPiece(file, edit);
  if (file.syntax == Syntax::kYaml) {
    if (!text.empty() && text.back() != '\n') text += LineEnd(text);
    text += piece + LineEnd(text);
    return true;
  }
  if (file.syntax == Syntax::kJson) {
    const std::size_t brace = text.find('{');
    const std::size_t first = text.find('"', brace);
    if (brace == std::string::npos || first == std::string::npos) return false;
    text.insert(first, piece + "," + text.substr(brace + 1, first - brace - 1));
    return true;
  }
  if (file.syntax == Syntax::kCommand) {
    std::size_t end = text.find_last_not_of(" \t\r\n\\");
    if (end == std::string::npos) return false;
    text.insert(end + 1, " " + piece);
    return true;
  }
  return false;
}

}  // namespace

std::vector<Edit> InOwnWords(const ConfigReading& reading, std::string_view change) {
  std::vector<Edit> edits;
  for (const std::string& option : Options(change)) {
    std::vector<Edit> found;
    for (std::size_t i = 0; i < reading.files.size(); ++i) {
      std::optional<Edit> edit = EditFor(reading, i, option);
      if (!edit) continue;
      // A new key goes into one file, the last trainer's; standing ones are changed everywhere.
      const bool is_candidate = !edit->is_new || reading.files[i].dialect->IsTrainer();
      if (!is_candidate) continue;
      if (!found.empty() && found.back().is_new) found.pop_back();
      if (edit->is_new && !found.empty()) continue;
      found.push_back(std::move(*edit));
    }
    if (found.empty()) return {};
    edits.insert(edits.end(), found.begin(), found.end());
  }
  return edits;
}

std::string EditText(const ConfigReading& reading, const Edit& edit) {
  return NewPiece(reading.files[edit.file], edit);
}

Expected<std::string> ApplyEdits(const ConfigReading& reading, std::size_t file,
                                 const std::vector<Edit>& edits) {
  const ReadFile& target = reading.files[file];
  std::string text = target.text;
  std::vector<Edit> standing;
  for (const Edit& edit : edits) {
    if (edit.file == file && !edit.is_new) standing.push_back(edit);
  }
  // From the back, so that places stay.
  std::sort(standing.begin(), standing.end(),
            [](const Edit& a, const Edit& b) { return a.begin > b.begin; });
  for (const Edit& edit : standing) {
    const std::string value = target.syntax == Syntax::kJson || target.syntax == Syntax::kToml ||
                                      target.syntax == Syntax::kPython
                                  ? Quoted(edit)
                                  : edit.value;
    const bool is_bare_switch =
        target.syntax == Syntax::kCommand && edit.begin < text.size() && text[edit.begin] == '-';
    if (is_bare_switch) {
      text.replace(edit.begin, edit.end - edit.begin, "--" + edit.key + " " + value);
    } else {
      text.replace(edit.begin, edit.end - edit.begin, value);
    }
  }
  for (const Edit& edit : edits) {
    if (edit.file != file || !edit.is_new) continue;
    if (!Insert(target, edit, text)) {
      return Fail(Error("no-place",
                        fmt::format("{} has no place for {}", target.path, NewPiece(target, edit)),
                        "write it yourself: " + NewPiece(target, edit)));
    }
  }
  return text;
}

}  // namespace trainfit::readers
