// Colour, and the way back to ASCII.
#pragma once

#include <string>
#include <string_view>

namespace trainfit::report {

// What a piece of text is, not which colour it has.
enum class Tone {
  kPlain,
  kStrong,
  kDim,
  kGood,
  kWarn,
  kBad,
  // Parts of a bar, in turn.
  kPart0,
  kPart1,
  kPart2,
  kPart3,
  kPart4,
  kPart5,
};
inline constexpr int kPartTones = 6;
Tone PartTone(std::size_t index);

// Wraps text in colour codes, or leaves it alone. Widths are computed before: codes have none.
class Style {
 public:
  explicit Style(bool color) : color_(color) {}
  bool color() const { return color_; }
  std::string operator()(Tone tone, std::string_view text) const;

 private:
  bool color_;
};

// The text in ASCII, for terminals that know no more: signs that tables and bars use become one
// letter each, so that columns stay where they are; what has no likeness becomes '?'.
std::string ToAscii(std::string_view text);

}  // namespace trainfit::report
