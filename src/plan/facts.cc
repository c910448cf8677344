#include "plan/facts.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/check.h"

namespace trainfit::plan {

Version ParseVersion(std::string_view text) {
  std::array<int, 3> numbers = {0, 0, 0};
  std::size_t at = 0;
  for (int& number : numbers) {
    if (at >= text.size() || std::isdigit(static_cast<unsigned char>(text[at])) == 0) break;
    while (at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0) {
      number = std::min(number * 10 + (text[at++] - '0'), 99'999);
    }
    if (at >= text.size() || text[at] != '.') break;
    ++at;
  }
  return {numbers[0], numbers[1], numbers[2]};
}

std::string Text(Version version) {
  return std::to_string(version.major) + "." + std::to_string(version.minor) + "." +
         std::to_string(version.patch);
}

Version Stack::Of(std::string_view package) const {
  for (const Package& candidate : packages) {
    if (candidate.name == package) return candidate.version;
  }
  return {};
}

std::string Stack::Text() const {
  std::string text;
  for (const Package& package : packages) {
    if (package.version == Version{}) continue;  // not there
    if (!text.empty()) text += ", ";
    text += package.name + " " + plan::Text(package.version);
  }
  return text;
}

const FactRow& FactTable::Row(Fact fact) const {
  for (const std::span<const FactRow> rows : {rows_, base_}) {
    for (const FactRow& row : rows) {
      if (row.fact != fact) continue;
      const Version version = stack_.Of(row.package);
      const bool is_open = row.until == Version{};
      if (version >= row.since && (is_open || version < row.until)) return row;
    }
  }
  CHECK(false) << "no fact row answers question " << static_cast<int>(fact) << " for "
               << stack_.Text();
  return rows_.front();
}

}  // namespace trainfit::plan
