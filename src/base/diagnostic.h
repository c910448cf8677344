// What went wrong, as data: rendered once, as text or JSON, by whoever shows it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace trainfit {

// A place in a text that a person wrote. Lines and columns count from 1, columns in bytes;
// line 0 means that the whole file (or no file) is meant.
struct SourceSpan {
  std::string file;  // as the user wrote it; "<command line>" for arguments; empty: nowhere
  int line = 0;
  int column = 0;
  int length = 0;           // bytes to underline on that line; 0: a caret alone
  std::string source_line;  // the line's text, cut by the reader; empty: not shown
  int source_start = 0;     // bytes of the line that the reader cut off before source_line

  bool operator==(const SourceSpan&) const = default;
};

enum class Severity { kError, kWarning, kNote };

// One complaint: what, where, why, and what to do.
struct Diagnostic {
  Severity severity = Severity::kError;
  std::string code;                // stable and short, for programs: "unknown-gpu"
  std::string message;             // one sentence: what is wrong, and why
  SourceSpan span;                 // where
  std::vector<std::string> notes;  // further facts: the number needed, the number found
  std::string suggestion;          // what to do: a word, a flag, a command; empty: none

  bool operator==(const Diagnostic&) const = default;
};

using Diagnostics = std::vector<Diagnostic>;

// Builds an error without a position.
Diagnostic Error(std::string code, std::string message, std::string suggestion = "");
// Builds an error at a place in a file.
Diagnostic ErrorAt(SourceSpan span, std::string code, std::string message,
                   std::string suggestion = "");

// The span of bytes [begin, end) of a text, with its line cut to a window around `begin`. Offsets
// behind the end mean the end. `file` is how messages call the text.
SourceSpan SpanInText(std::string_view file, std::string_view text, std::size_t begin,
                      std::size_t end);

// Renders one diagnostic as people read it, each line ended by '\n':
//   file:line:col: error: message
//     source line
//     ^~~~
//   note: …
//   try: …
// Control characters that the input carried are shown escaped, so a file cannot drive a terminal;
// a line break inside a message, note or suggestion as well: one note is one line. The source line
// is cut to 72 columns around the caret, a tab in it shown as two spaces.
std::string RenderText(const Diagnostic& diagnostic);

}  // namespace trainfit
