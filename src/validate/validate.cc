#include "validate/validate.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "catalog/catalog.h"
#include "config/file_reader.h"
#include "config/json_reader.h"
#include "validate/labels.h"
#include "validate/model_of.h"

namespace trainfit::validate {
namespace {

constexpr std::size_t kMostBytes = std::size_t{256} << 20;
constexpr std::size_t kMostBadLines =
    20;  // a file that is no JSON Lines need not be read to its end

struct Line {
  std::string_view text;
  int number = 0;
};

std::vector<Line> LinesOf(std::string_view text) {
  std::vector<Line> lines;
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) lines.push_back({line, number});
  }
  return lines;
}

std::string FileName(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

Expected<Record> RecordOf(const std::string& path, const Line& line) {
  config::ReadLimits limits;
  limits.allow_non_finite = true;  // Python's json writes NaN
  ASSIGN_OR_RETURN(const config::Node node,
                   config::ParseJson(path, std::string(line.text), limits));
  return ReadRecord(node);
}

// Every line was parsed as a text of its own: its complaints are moved to the line's place.
void Complain(Diagnostics errors, int line, Diagnostics& bad_lines) {
  for (Diagnostic& error : errors) {
    error.span.line = line;
    bad_lines.push_back(std::move(error));
  }
}

}  // namespace

Expected<Validation> Validate(const std::vector<std::string>& paths,
                              const catalog::Catalog& catalog, const Progress& progress) {
  Validation validation;
  std::vector<Record> records;
  for (const std::string& path : paths) {
    config::ReadLimits limits;
    limits.max_bytes = kMostBytes;
    ASSIGN_OR_RETURN(const std::string text, config::ReadTextFile(path, limits));
    validation.files.push_back(FileName(path));
    for (const Line& line : LinesOf(text)) {
      Expected<Record> record = RecordOf(path, line);
      if (record.has_value()) {
        records.push_back(std::move(*record));
        continue;
      }
      Complain(std::move(record.error()), line.number, validation.bad_lines);
      if (validation.bad_lines.size() >= kMostBadLines) return Fail(validation.bad_lines);
    }
  }
  ModelFinder models(catalog);
  for (Record& record : records) {
    if (progress) progress(validation.rows.size(), records.size());
    if (!record.labels.empty()) FillReport(record.run);
    Prediction prediction = Predict(record.run, catalog, models);
    validation.rows.push_back(MakeRow(std::move(record), std::move(prediction)));
  }
  return validation;
}

}  // namespace trainfit::validate
