// The nearest known word, for every name that a person can mistype.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trainfit {

// Edit distance (insert, delete, replace, swap of neighbours), ASCII case ignored.
// Stops early: a result above `limit` is returned as limit + 1.
int EditDistance(std::string_view a, std::string_view b, int limit);

// The closest of `known` to `typed`, or empty when none is near enough to be meant (more than a
// third of the letters differ). Ties: the earlier one. Words over 100 letters match nothing.
std::string NearestWord(std::string_view typed, std::span<const std::string> known);

// Up to `count` near words, closest first.
std::vector<std::string> NearestWords(std::string_view typed, std::span<const std::string> known,
                                      int count);

}  // namespace trainfit
