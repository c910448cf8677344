#include "report/style.h"

#include "base/text.h"

namespace trainfit::report {
namespace {

// Select Graphic Rendition parameters; the sixteen colours follow the user's own theme.
std::string_view Code(Tone tone) {
  switch (tone) {
    case Tone::kPlain:
      return "";
    case Tone::kStrong:
      return "1";
    case Tone::kDim:
      return "2";
    case Tone::kGood:
      return "1;32";
    case Tone::kWarn:
      return "1;33";
    case Tone::kBad:
      return "1;31";
    case Tone::kPart0:
      return "34";
    case Tone::kPart1:
      return "36";
    case Tone::kPart2:
      return "35";
    case Tone::kPart3:
      return "33";
    case Tone::kPart4:
      return "32";
    case Tone::kPart5:
      return "37";
  }
  return "";
}

struct Likeness {
  char32_t sign;
  std::string_view ascii;
};

// The last three rows change the width and so stand in running text alone.
constexpr Likeness kLikenesses[] = {
    {U'█', "#"},      {U'▉', "#"}, {U'▊', "#"}, {U'▋', "#"},   {U'▌', "="},  {U'▍', "-"},
    {U'▎', "-"},      {U'▏', "."}, {U'░', "+"}, {U'▒', "%"},   {U'·', "."},  {U'▲', "^"},
    {U'▸', ">"},      {U'│', "|"}, {U'─', "-"}, {U'×', "x"},   {U'–', "-"},  {U'—', "-"},
    {U'−', "-"},      {U'±', "~"}, {U'’', "'"}, {U'“', "\""},  {U'”', "\""}, {U'µ', "u"},
    {U'\u00A0', " "}, {U'√', "v"}, {U'½', "?"}, {U'…', "..."}, {U'≤', "<="}, {U'≥', ">="},
    {U'→', "->"},     {U'≈', "~"},
};

}  // namespace

Tone PartTone(std::size_t index) {
  return static_cast<Tone>(static_cast<std::size_t>(Tone::kPart0) + index % kPartTones);
}

std::string Style::operator()(Tone tone, std::string_view text) const {
  const std::string_view code = Code(tone);
  if (!color_ || code.empty() || text.empty()) return std::string(text);
  std::string out = "\x1b[";
  out += code;
  out += 'm';
  out += text;
  out += "\x1b[0m";
  return out;
}

std::string ToAscii(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = DecodeUtf8(text, i);
    if (c.valid && c.value < 0x80) {
      out += text[i];
    } else {
      std::string_view ascii = "?";
      for (const Likeness& likeness : kLikenesses) {
        if (likeness.sign == c.value) ascii = likeness.ascii;
      }
      out += ascii;
    }
    i += c.length;
  }
  return out;
}

}  // namespace trainfit::report
