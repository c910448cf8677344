#include "catalog/csv.h"

#include <fmt/format.h>

#include <utility>

namespace trainfit::catalog {
namespace {

class CsvReader {
 public:
  CsvReader(const std::string& name, std::string_view text) : name_(name), text_(text) {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
  }

  Expected<Csv> Read() {
    Csv csv;
    while (at_ < text_.size()) {
      const std::size_t begin = at_;
      CsvRow row{line_, {}};
      if (!ReadRow(&row)) {
        return Fail(ErrorAt(SpanInText(name_, text_, quote_, quote_ + 1), "open-quote",
                            "this quote is not closed"));
      }
      const bool is_empty = row.fields.size() == 1 && row.fields[0].empty();
      if (is_empty) continue;
      if (csv.header.empty()) {
        csv.header = std::move(row.fields);
      } else if (row.fields.size() != csv.header.size()) {
        return Fail(ErrorAt(SpanInText(name_, text_, begin, begin), "bad-row",
                            fmt::format("{} fields, where the header has {}", row.fields.size(),
                                        csv.header.size())));
      } else {
        csv.rows.push_back(std::move(row));
      }
    }
    if (csv.header.empty()) return Fail(Error("no-header", name_ + " is empty"));
    return csv;
  }

 private:
  // False when a quote stays open.
  bool ReadRow(CsvRow* row) {
    while (true) {
      std::string field;
      if (at_ < text_.size() && text_[at_] == '"') {
        if (!ReadQuoted(&field)) return false;
      }
      while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != '\n') {
        if (text_[at_] != '\r') field += text_[at_];
        ++at_;
      }
      row->fields.push_back(std::move(field));
      if (at_ == text_.size()) return true;
      if (text_[at_++] == '\n') {
        ++line_;
        return true;
      }
    }
  }

  bool ReadQuoted(std::string* field) {
    quote_ = at_++;
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\n') ++line_;
      if (text_[at_] != '"') {
        *field += text_[at_];
      } else if (at_ + 1 < text_.size() && text_[at_ + 1] == '"') {
        *field += text_[++at_];
      } else {
        ++at_;
        return true;
      }
    }
    return false;
  }

  const std::string& name_;
  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t quote_ = 0;
  int line_ = 1;
};

}  // namespace

int Csv::Find(std::string_view column) const {
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (header[i] == column) return static_cast<int>(i);
  }
  return -1;
}

Expected<Csv> ParseCsv(const std::string& name, std::string_view text) {
  return CsvReader(name, text).Read();
}

}  // namespace trainfit::catalog
