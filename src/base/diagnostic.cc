#include "base/diagnostic.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace trainfit {
namespace {

constexpr int kSourceColumns = 72;
constexpr std::string_view kDots = "...";
constexpr int kDotsWidth = 3;
// Columns of a file name, of a message or note, and of a suggestion (which may be a command line
// that people copy): far more than any honest one, so that a hostile one cannot fill the screen.
constexpr int kFileColumns = 160;
constexpr int kMessageColumns = 600;
constexpr int kSuggestionColumns = 2000;

// Bytes that a reader keeps on each side of the caret: enough for 72 columns of four-byte letters
// to one side.
constexpr std::size_t kBytesAround = std::size_t{4} * kSourceColumns;

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// The part of `line` around `caret` that is kept, as [first, last). Never cuts a letter.
std::pair<std::size_t, std::size_t> Window(std::string_view line, std::size_t caret) {
  std::size_t first = caret > kBytesAround ? caret - kBytesAround : 0;
  std::size_t last = std::min(line.size(), caret + kBytesAround);
  while (first > 0 && first < caret && IsContinuation(line[first])) ++first;
  while (last < line.size() && last > caret && IsContinuation(line[last])) --last;
  return {first, last};
}

// A letter of the source line as shown.
struct Cell {
  std::string shown;
  int width = 0;
  std::size_t at = 0;  // its byte in the line
};

std::vector<Cell> SplitIntoCells(std::string_view line) {
  std::vector<Cell> cells;
  int length = 0;
  for (std::size_t i = 0; i < line.size(); i += length) {
    Cell cell;
    cell.at = i;
    cell.width = internal::AppendShown(line, i, &cell.shown, &length);
    if (line[i] == '\t') {
      cell.shown = "  ";
      cell.width = 2;
    }
    cells.push_back(std::move(cell));
  }
  return cells;
}

int TotalWidth(const std::vector<Cell>& cells, std::size_t first, std::size_t last) {
  int width = 0;
  for (std::size_t i = first; i < last; ++i) width += cells[i].width;
  return width;
}

// The first cell to show, so that the caret's cell is in sight and as much of the line as possible.
std::size_t FirstShown(const std::vector<Cell>& cells, std::size_t caret, bool cut_before) {
  constexpr int kContextAfter = 12;
  const int room = kSourceColumns - (cut_before ? kDotsWidth : 0);
  if (TotalWidth(cells, 0, cells.size()) <= room) return 0;
  if (TotalWidth(cells, 0, caret) < room - kContextAfter) return 0;
  // Two thirds of the columns before the caret, more when the rest of the line is short.
  std::size_t first = caret;
  int before = 0;
  while (first > 0 && before + cells[first - 1].width <= kSourceColumns * 2 / 3) {
    before += cells[--first].width;
  }
  int width = TotalWidth(cells, first, cells.size());
  while (first > 0 && width + cells[first - 1].width <= kSourceColumns - kDotsWidth) {
    width += cells[--first].width;
  }
  return first;
}

// The two lines: source and caret.
std::string RenderSource(const SourceSpan& span) {
  const std::string_view whole = span.source_line;
  const int wanted = std::max(0, span.column - 1 - span.source_start);
  const std::size_t caret_byte = std::min<std::size_t>(wanted, whole.size());
  const auto [window_first, window_last] = Window(whole, caret_byte);
  const std::vector<Cell> cells =
      SplitIntoCells(whole.substr(window_first, window_last - window_first));
  const std::size_t target = caret_byte - window_first;
  const auto cell_at = [&](std::size_t byte) {
    std::size_t i = 0;
    while (i < cells.size() && cells[i].at < byte) ++i;
    return i;
  };
  const std::size_t caret = cell_at(target);
  const bool cut_before = span.source_start > 0 || window_first > 0;
  const std::size_t first = FirstShown(cells, caret, cut_before);

  std::string line = cut_before || first > 0 ? std::string(kDots) : "";
  int room = kSourceColumns - static_cast<int>(line.size());
  const bool fits = TotalWidth(cells, first, cells.size()) <= room;
  if (!fits) room -= kDotsWidth;
  const int pad = static_cast<int>(line.size()) + TotalWidth(cells, first, caret);
  std::size_t last = first;
  for (; last < cells.size() && cells[last].width <= room; ++last) {
    room -= cells[last].width;
    line += cells[last].shown;
  }
  if (!fits) line += kDots;

  const std::size_t underlined = cell_at(target + std::max(0, span.length));
  const int width = TotalWidth(cells, caret, std::max(caret, std::min(underlined, last)));
  std::string marks(std::max(1, width), '~');
  marks[0] = '^';
  return "  " + line + "\n  " + std::string(pad, ' ') + marks + "\n";
}

std::string_view Name(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return "error";
    case Severity::kWarning:
      return "warning";
    case Severity::kNote:
      return "note";
  }
  return "error";
}

// "file:line:col: ", as much of it as is known. A long path keeps its end, where the name is.
std::string RenderPlace(const SourceSpan& span) {
  if (span.file.empty()) return "";
  std::string place = span.file;
  if (DisplayWidth(place) > kFileColumns) {
    std::size_t first = place.size() > kFileColumns ? place.size() - kFileColumns : 0;
    while (first < place.size() && IsContinuation(place[first])) ++first;
    place = std::string(kDots) + CutToWidth(std::string_view(place).substr(first), kFileColumns);
  }
  place = Printable(place);
  if (span.line > 0) {
    place += ":" + std::to_string(span.line);
    if (span.column > 0) place += ":" + std::to_string(span.column);
  }
  return place + ": ";
}

}  // namespace

Diagnostic Error(std::string code, std::string message, std::string suggestion) {
  return ErrorAt({}, std::move(code), std::move(message), std::move(suggestion));
}

Diagnostic ErrorAt(SourceSpan span, std::string code, std::string message, std::string suggestion) {
  Diagnostic diagnostic;
  diagnostic.code = std::move(code);
  diagnostic.message = std::move(message);
  diagnostic.span = std::move(span);
  diagnostic.suggestion = std::move(suggestion);
  return diagnostic;
}

SourceSpan SpanInText(std::string_view file, std::string_view text, std::size_t begin,
                      std::size_t end) {
  begin = std::min(begin, text.size());
  end = std::clamp(end, begin, text.size());
  const std::size_t newline_before = begin == 0 ? std::string_view::npos  // NOLINT
                                                : text.rfind('\n', begin - 1);
  const std::size_t line_begin = newline_before == std::string_view::npos ? 0 : newline_before + 1;
  std::size_t line_end = std::min(text.find('\n', begin), text.size());
  if (line_end > begin && text[line_end - 1] == '\r') --line_end;

  const std::string_view line = text.substr(line_begin, line_end - line_begin);
  const std::size_t caret = std::min(begin - line_begin, line.size());
  const auto [first, last] = Window(line, caret);
  SourceSpan span;
  span.file = std::string(file);
  span.line = 1 + static_cast<int>(std::count(text.begin(), text.begin() + line_begin, '\n'));
  span.column = 1 + static_cast<int>(caret);
  span.length = static_cast<int>(std::min(end, line_begin + last) - std::min(begin, line_end));
  span.length = std::max(0, span.length);
  span.source_line = std::string(line.substr(first, last - first));
  span.source_start = static_cast<int>(first);
  return span;
}

std::string RenderText(const Diagnostic& diagnostic) {
  const auto shown = [](std::string_view text, int columns) {
    return Printable(CutToWidth(text, columns));
  };
  std::string text = RenderPlace(diagnostic.span);
  text += Name(diagnostic.severity);
  text += ": " + shown(diagnostic.message, kMessageColumns) + "\n";
  if (diagnostic.span.line > 0 && !diagnostic.span.source_line.empty()) {
    text += RenderSource(diagnostic.span);
  }
  for (const std::string& note : diagnostic.notes) {
    text += "  note: " + shown(note, kMessageColumns) + "\n";
  }
  if (!diagnostic.suggestion.empty()) {
    text += "  try: " + shown(diagnostic.suggestion, kSuggestionColumns) + "\n";
  }
  return text;
}

}  // namespace trainfit
