// What the name of a model says of its shape: the family and the size of "dolphin-2.6-mistral-7b".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainfit::catalog {

// "meta-llama/Llama-2-70b-chat-hf" → words llama, 2; size 70. The organisation, remarks in
// brackets, and words that say how a model was tuned or stored ("instruct", "hf") are dropped.
struct ModelWords {
  std::vector<std::string> words;
  std::vector<double> billions;  // "70b", "350M", "7b1" (7.1)
};

ModelWords SplitModelName(std::string_view name);

// Names of tuned models that do not name what they were tuned from, replaced by what does:
// vicuna → llama. What was replaced is told in `replaced`, empty if nothing was.
struct Renamed {
  ModelWords words;
  std::string replaced;  // "vicuna is a tuned llama"
};
Renamed NameTheBase(ModelWords words);

// How well a name fits a known one: the number of words that they share. Absent where the known
// name has a word that the other lacks, where their sizes differ by more than print rounds them, or
// where the name has a word for another architecture ("vl").
std::optional<int> Likeness(const ModelWords& name, const ModelWords& known);

// Nothing but a size: "7b", "GPT-like 1.35B" (of a GPT), "4B model".
bool IsBareSize(const ModelWords& name);

// Whether two sizes may be two roundings of one: 6.8 and 7, not 7 and 8.
bool IsSameSize(double billions, double other);

}  // namespace trainfit::catalog
