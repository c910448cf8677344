#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "api/prices.h"
#include "cli/commands.h"
#include "cli/output.h"

namespace trainfit::cli {
namespace {

// The day that the file was last written; today when that is not known.
api::Date DateOf(const std::string& file, const Environment& environment) {
  constexpr std::int64_t kSecondsOfDay = 86'400;
  struct stat status{};
  if (stat(file.c_str(), &status) != 0) return environment.today;
  return api::DateOfDay(status.st_mtime / kSecondsOfDay);
}

// "aws" of catalogs/v8/aws/vms.csv and of aws.csv.
std::string ProviderOf(const std::string& file) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::absolute(file, error);
  const std::string stem = path.stem().string();
  return stem == "vms" ? path.parent_path().filename().string() : stem;
}

std::string Summary(const api::ImportedPrices& prices, const api::PriceListOrigin& origin) {
  const auto count = [](std::int64_t number, const char* thing) {
    return std::to_string(number) + " " + thing + (number == 1 ? "" : "s");
  };
  std::string text = count(prices.machines, "machine") + " from " + count(prices.rows, "row") +
                     ", prices of " + origin.date + "\n";
  for (const auto& [why, rows] : prices.skipped) {
    text += "  skipped " + std::to_string(rows) + ": " + why + "\n";
  }
  return text;
}

}  // namespace

int RunPrices(const Request& request, const Environment& environment) {
  if (request.words.size() != 2 || request.words[0] != "import") {
    return PrintErrors({Error("bad-usage", "prices needs what to do, and one file",
                              "trainfit prices import FILE.csv --write prices.json")});
  }
  const std::string& file = request.words[1];
  api::PriceListOrigin origin;
  origin.provider = request.provider.empty() ? ProviderOf(file) : request.provider;
  origin.date = api::DateText(request.date.value_or(DateOf(file, environment)));
  const Expected<api::ImportedPrices> prices =
      api::ImportPrices(file, origin, CatalogFiles(request, environment));
  if (!prices) return PrintErrors(prices.error());
  const std::string summary = Summary(*prices, origin);
  if (request.write.empty()) {
    PrintComplaint(summary);
    return PrintAnswer(prices->json) ? kOk : kInternal;
  }
  std::ofstream out(request.write, std::ios::binary | std::ios::trunc);
  out << prices->json;
  out.close();
  if (out.fail()) {
    return PrintErrors({Error("not-written", "\"" + request.write + "\" could not be written")});
  }
  return PrintAnswer(summary) ? kOk : kInternal;
}

}  // namespace trainfit::cli
