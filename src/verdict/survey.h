// The question of one screen: for each method, how much memory, and the smallest hardware.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "verdict/verdict.h"

namespace trainfit::verdict {

// Hardware that holds a method: `gpus` of one card (1: alone; more: fully sharded).
struct Holder {
  spec::Gpu gpu;
  std::int64_t gpus = 1;
  Fit fit = Fit::kFits;
  Estimate per_gpu;
  std::optional<spec::Offer> offer;       // the cheapest known way to get it
  std::optional<DollarsPerSecond> price;  // of all `gpus`
};

// One method of training the model.
struct SurveyRow {
  std::string name;  // "QLoRA", "full, 8-bit AdamW"
  plan::Plan plan;   // on one card
  Estimate one_gpu;  // what one card would have to hold
  std::vector<PartBytes> parts;
  std::int64_t trainable = 0;
  std::optional<Holder> smallest;  // fewest cards, then least memory that holds it, then price
  std::optional<Holder> cheapest;  // least price an hour among all that hold it
};

struct Survey {
  std::vector<SurveyRow> rows;
  std::vector<plan::Assumption> assumptions;  // shared by all rows
  std::vector<std::string> warnings;
};

}  // namespace trainfit::verdict
