// Text that knows how wide the screen is: wrapping, and tables.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/style.h"

namespace trainfit::report {

// The text in lines of at most `width` columns, broken at spaces; a word that is longer than a
// line is broken where the line ends. What could drive a terminal is escaped (base/text.h).
std::vector<std::string> Wrap(std::string_view text, int width);

// A paragraph: `label` (as wide as `indent`) before the first line, spaces before the others.
std::string Paragraph(std::string_view label, std::string_view text, int indent, int width,
                      const Style& style, Tone tone = Tone::kPlain);

struct Cell {
  std::string text;
  Tone tone = Tone::kPlain;
};

enum class Align { kLeft, kRight };

struct Column {
  std::string title;  // all titles empty: no header line
  Align align = Align::kLeft;
  int narrowest = 0;  // may be made this narrow, its texts going on in the next line; 0: never
};

// Rows of cells under titles, two spaces between columns. Each column is as wide as its widest
// text; when that is too much for the screen, the widest wrapping columns give way.
class Table {
 public:
  Table(int indent, std::vector<Column> columns) : indent_(indent), columns_(std::move(columns)) {}

  void Row(std::vector<Cell> cells);
  // A paragraph of its own below the last row, further indented.
  void Note(std::string text);
  // Columns that the table takes when every column is as narrow as it may be.
  int NarrowestWidth() const;
  bool empty() const { return rows_.empty(); }

  std::string Text(int width, const Style& style) const;

 private:
  struct Line {
    std::vector<Cell> cells;
    std::string note;  // instead of cells
  };
  std::vector<int> NaturalWidths() const;
  std::vector<int> Widths(int width) const;
  std::string RowText(const std::vector<Cell>& cells, const std::vector<int>& widths,
                      const Style& style) const;

  int indent_;
  std::vector<Column> columns_;
  std::vector<Line> rows_;
};

}  // namespace trainfit::report
