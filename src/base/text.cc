#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace trainfit {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// Two columns wide: the East Asian Wide and Fullwidth blocks and the emoji blocks of Unicode 15,
// rounded outwards to whole blocks. A rare letter may be off by one column; a table of every
// letter is not worth its size for drawing a caret.
constexpr Range kWide[] = {
    {0x1100, 0x115F},   {0x231A, 0x231B},   {0x23E9, 0x23EC},   {0x2614, 0x2615},
    {0x26A1, 0x26A1},   {0x2705, 0x2705},   {0x274C, 0x274C},   {0x2753, 0x2757},
    {0x2795, 0x2797},   {0x2B50, 0x2B50},   {0x2E80, 0x303E},   {0x3041, 0x33FF},
    {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xA000, 0xA4CF},   {0xA960, 0xA97F},
    {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF01, 0xFF60},
    {0xFFE0, 0xFFE6},   {0x16FE0, 0x18DFF}, {0x1AFF0, 0x1B2FF}, {0x1F18E, 0x1F19A},
    {0x1F200, 0x1F265}, {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F7E0, 0x1F7F0},
    {0x1F900, 0x1F9FF}, {0x1FA70, 0x1FAFF}, {0x20000, 0x3FFFD},
};

// Drawn on top of the letter before.
constexpr Range kCombining[] = {
    {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x0610, 0x061A},   {0x064B, 0x065F},
    {0x06D6, 0x06DC}, {0x0900, 0x0902}, {0x093C, 0x093C}, {0x0941, 0x0948},   {0x0E31, 0x0E31},
    {0x0E34, 0x0E3A}, {0x0E47, 0x0E4E}, {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF},   {0x20D0, 0x20FF},
    {0x3099, 0x309A}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xE0100, 0xE01EF},
};

// Invisible, or able to change the order in which other letters are shown.
constexpr Range kHidden[] = {
    {0x00AD, 0x00AD}, {0x061C, 0x061C}, {0x115F, 0x1160},   {0x180E, 0x180E},
    {0x200B, 0x200F}, {0x2028, 0x202E}, {0x2060, 0x206F},   {0x3164, 0x3164},
    {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE007F},
};

template <std::size_t kSize>
bool IsIn(const Range (&ranges)[kSize], char32_t c) {
  const auto* it = std::upper_bound(std::begin(ranges), std::end(ranges), c,
                                    [](char32_t value, const Range& r) { return value < r.first; });
  return it != std::begin(ranges) && c <= std::prev(it)->last;
}

bool IsControl(char32_t c) { return c < 0x20 || (c >= 0x7F && c < 0xA0); }

int Width(char32_t c) {
  if (c < 0x300) return 1;
  if (IsIn(kCombining, c)) return 0;
  return IsIn(kWide, c) ? 2 : 1;
}

bool IsContinuation(unsigned char byte) { return (byte & 0xC0) == 0x80; }

}  // namespace

CodePoint DecodeUtf8(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned char first = byte(0);
  const CodePoint invalid{first, 1, false};
  if (first < 0x80) return {first, 1, true};
  if (first < 0xC2 || first > 0xF4) return invalid;
  const int length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (text.size() - at < static_cast<std::size_t>(length)) return invalid;
  char32_t value = first & (0xFF >> (length + 1));
  for (int i = 1; i < length; ++i) {
    if (!IsContinuation(byte(i))) return invalid;
    value = (value << 6) | (byte(i) & 0x3F);
  }
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < kSmallest[length] || value > 0x10FFFF || is_surrogate) return invalid;
  return {value, length, true};
}

std::size_t FindInvalidUtf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = DecodeUtf8(text, i);
    if (!c.valid) return i;
    i += c.length;
  }
  return std::string_view::npos;
}

namespace internal {

int AppendShown(std::string_view text, std::size_t at, std::string* out, int* length) {
  const CodePoint c = DecodeUtf8(text, at);
  *length = c.length;
  const std::size_t before = out->size();
  if (c.value == '\n') {
    *out += "\\n";
  } else if (c.value == '\r') {
    *out += "\\r";
  } else if (c.value == '\t') {
    *out += "\\t";
  } else if (!c.valid || IsControl(c.value)) {
    *out += fmt::format("\\x{:02x}", static_cast<unsigned>(c.value));
  } else if (IsIn(kHidden, c.value)) {
    *out += fmt::format("\\u{:04x}", static_cast<unsigned>(c.value));
  } else {
    out->append(text.substr(at, c.length));
    return Width(c.value);
  }
  return static_cast<int>(out->size() - before);
}

}  // namespace internal

int DisplayWidth(std::string_view text) {
  int width = 0;
  int length = 0;
  std::string scratch;
  for (std::size_t i = 0; i < text.size(); i += length) {
    scratch.clear();
    width += internal::AppendShown(text, i, &scratch, &length);
  }
  return width;
}

std::string Printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  int length = 0;
  for (std::size_t i = 0; i < text.size(); i += length) {
    internal::AppendShown(text, i, &out, &length);
  }
  return out;
}

std::string CutToWidth(std::string_view text, int columns) {
  constexpr int kDots = 3;
  int width = 0;
  int length = 0;
  std::size_t fits = 0;  // bytes that leave room for the dots
  std::string scratch;
  for (std::size_t i = 0; i < text.size(); i += length) {
    scratch.clear();
    width += internal::AppendShown(text, i, &scratch, &length);
    if (width <= columns - kDots) fits = i + length;
    if (width > columns) return std::string(text.substr(0, fits)) + "...";
  }
  return std::string(text);
}

std::string Quoted(std::string_view name, int columns) {
  return '"' + CutToWidth(name, columns) + '"';
}

}  // namespace trainfit
