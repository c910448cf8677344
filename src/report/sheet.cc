#include "report/sheet.h"

#include <algorithm>

#include "base/text.h"
#include "report/layout.h"

namespace trainfit::report {
namespace {

constexpr int kIndent = 2;
constexpr int kNarrowestLabel = 26;
constexpr int kWidestLabel = 48;

// Most sections have their texts in one line; names of tensors take more.
int LabelWidth(const SheetSection& section) {
  int widest = kNarrowestLabel;
  for (const SheetFact& fact : section.facts) widest = std::max(widest, DisplayWidth(fact.label));
  return kIndent + std::min(widest, kWidestLabel) + 2;
}

}  // namespace

std::string SheetText(const Sheet& sheet, const TextOptions& options) {
  const Style style(options.color);
  std::string text = style(Tone::kStrong, Printable(sheet.title)) + "\n";
  for (const SheetSection& section : sheet.sections) {
    if (section.facts.empty() && section.sentences.empty()) continue;
    text += "\n" + style(Tone::kStrong, Printable(section.title)) + "\n";
    const int label_width = LabelWidth(section);
    for (const SheetFact& fact : section.facts) {
      text += Paragraph(std::string(kIndent, ' ') + Printable(fact.label) + "  ", fact.text,
                        label_width, options.width, style);
    }
    for (const std::string& sentence : section.sentences) {
      text += Paragraph("  - ", sentence, 2 * kIndent, options.width, style);
    }
  }
  return options.unicode ? text : ToAscii(text);
}

}  // namespace trainfit::report
