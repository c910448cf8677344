// Numbers as they stand in a report. The same everywhere, so that two of them can be compared.
#pragma once

#include <cstdint>
#include <string>

#include "base/units.h"

namespace trainfit::report {

// Commas into the digits before the point: "3350.5" → "3,350.5".
std::string Grouped(std::string text);
// "7,241,732,096".
std::string WithCommas(std::int64_t value);
// Four or fewer digits and a suffix: "7.24B", "41.9M", "512".
std::string ShortCount(std::int64_t value);

// "9.79", "1,043.16", "<0.01": GiB with two digits behind the point, for columns that add up.
std::string GiBColumn(Bytes bytes);
// "9.79 GiB", "1,043.2 GiB": for sentences.
std::string GiB(Bytes bytes);
// "9.79 GiB (10.51 GB)": where a reader may have the other unit in mind.
std::string GiBAndGB(Bytes bytes);
// As GiB, both with as many digits as it takes to tell two different amounts apart.
struct GiBPair {
  std::string first;
  std::string second;
};
GiBPair DistinctGiB(Bytes first, Bytes second);
// "9.12–10.94": two ends without unit.
std::string GiBRange(Bytes low, Bytes high);
// "9.79 (9.1–11.0)", "110 (105–118)": an estimate with its range, the ends rounded outwards.
std::string GiBEstimate(Bytes point, Bytes low, Bytes high);

// "38 %", "0.4 %", "<0.1 %". `whole` > 0.
std::string Percent(std::int64_t part, std::int64_t whole);

// "0.43", "1,043.20": dollars an hour, without the sign.
std::string PerHourColumn(DollarsPerSecond price);

}  // namespace trainfit::report
