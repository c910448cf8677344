// Text as a terminal shows it: UTF-8, column widths, escapes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace trainfit {

// One character of a text. An invalid byte stands for itself: valid false, length 1.
struct CodePoint {
  char32_t value = 0;
  int length = 1;  // bytes
  bool valid = false;
};

// The character at byte `at`, which must be inside the text. Strict: overlong forms, surrogates
// and values above U+10FFFF are invalid.
CodePoint DecodeUtf8(std::string_view text, std::size_t at);

// Offset of the first byte that is not valid UTF-8, or npos.
std::size_t FindInvalidUtf8(std::string_view text);

// Columns that the text takes once made printable.
int DisplayWidth(std::string_view text);

// The text with everything escaped that could move a cursor, hide or reorder letters: controls,
// invalid bytes (\x1b), direction marks and invisible spaces (\u202e). Backslashes stay as they
// are.
std::string Printable(std::string_view text);

// The text, or its beginning and "..." when it is wider than `columns`. Cuts between characters.
std::string CutToWidth(std::string_view text, int columns);

// A name for a message: in double quotes, cut when it is longer than a name should be.
std::string Quoted(std::string_view name, int columns = 60);

namespace internal {

// Appends the character at `at` as shown and returns its columns; `*length` gets its bytes.
int AppendShown(std::string_view text, std::size_t at, std::string* out, int* length);

}  // namespace internal
}  // namespace trainfit
