#include "cli/environment.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <string_view>

#include "base/numeral.h"

namespace trainfit::cli {
namespace {

constexpr int kNarrowest = 60;
constexpr int kWidest = 100;  // longer lines are hard to read
constexpr int kUsual = 80;
constexpr std::int64_t kSecondsOfDay = 86'400;

// Empty when unset.
std::string_view Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

int ReadWidth(bool is_terminal) {
  std::int64_t width = kUsual;
  winsize size{};
  if (const auto columns = ParseInteger(Variable("COLUMNS")); columns && *columns > 0) {
    width = *columns;
  } else if (is_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    width = size.ws_col;
  }
  return static_cast<int>(std::clamp<std::int64_t>(width, kNarrowest, kWidest));
}

// no-color.org: any value that is not empty.
bool ReadColor(bool is_terminal) {
  const std::string_view terminal = Variable("TERM");
  return is_terminal && Variable("NO_COLOR").empty() && !terminal.empty() && terminal != "dumb";
}

// Containers leave the locale unset while the terminal outside shows UTF-8, so that only a locale
// that says something else turns it off.
bool ReadUnicode() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view locale = Variable(name);
    if (locale.empty()) continue;
    return locale.find("UTF-8") != std::string_view::npos ||
           locale.find("utf8") != std::string_view::npos ||
           locale.find("UTF8") != std::string_view::npos ||
           locale.find("utf-8") != std::string_view::npos;
  }
  return true;
}

// In the order of huggingface_hub/constants.py.
std::string ReadHuggingFaceCache() {
  for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"}) {
    if (!Variable(name).empty()) return std::string(Variable(name));
  }
  if (!Variable("HF_HOME").empty()) return std::string(Variable("HF_HOME")) + "/hub";
  if (!Variable("XDG_CACHE_HOME").empty()) {
    return std::string(Variable("XDG_CACHE_HOME")) + "/huggingface/hub";
  }
  if (!Variable("HOME").empty()) return std::string(Variable("HOME")) + "/.cache/huggingface/hub";
  return "";
}

// $XDG_CONFIG_HOME/trainfit/catalog.json or ~/.config/trainfit/catalog.json, when it exists.
std::string ReadCatalogFile() {
  std::string folder(Variable("XDG_CONFIG_HOME"));
  if (folder.empty() && !Variable("HOME").empty()) {
    folder = std::string(Variable("HOME")) + "/.config";
  }
  if (folder.empty()) return "";
  const std::string path = folder + "/trainfit/catalog.json";
  return access(path.c_str(), F_OK) == 0 ? path : "";
}

// SOURCE_DATE_EPOCH (reproducible-builds.org) stands in for the clock: the same output every day.
api::Date ReadToday() {
  constexpr std::int64_t kLastSecond = 253'402'300'799;  // of the year 9999
  std::int64_t seconds = std::time(nullptr);
  if (const auto epoch = ParseInteger(Variable("SOURCE_DATE_EPOCH")); epoch) seconds = *epoch;
  return api::DateOfDay(std::clamp<std::int64_t>(seconds, 0, kLastSecond) / kSecondsOfDay);
}

}  // namespace

Environment ReadEnvironment() {
  const bool is_terminal = isatty(STDOUT_FILENO) == 1;
  Environment environment;
  environment.width = ReadWidth(is_terminal);
  environment.color = ReadColor(is_terminal);
  environment.unicode = ReadUnicode();
  environment.hf_cache = ReadHuggingFaceCache();
  environment.catalog = ReadCatalogFile();
  environment.today = ReadToday();
  // Set by a wrapper script that stands in front of the program.
  const std::string_view called_as = Variable("TRAINFIT_CALLED_AS");
  environment.program = called_as.empty() ? "trainfit" : std::string(called_as);
  return environment;
}

api::TextOptions TextOptionsFor(const Request& request, const Environment& environment) {
  api::TextOptions options;
  options.width = request.width.value_or(environment.width);
  options.color = environment.color && !request.no_color;
  options.unicode = environment.unicode && !request.ascii;
  options.explain = request.explain;
  options.today = environment.today;
  options.typed_options = request.typed;
  options.program = environment.program;
  return options;
}

}  // namespace trainfit::cli
