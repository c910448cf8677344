// Records of kind "kernel": one operator, forward and backward, on a card.
#pragma once

#include "validate/predict.h"

namespace trainfit::validate {

Prediction PredictOperator(const Run& run, const catalog::Catalog& catalog);

}  // namespace trainfit::validate
