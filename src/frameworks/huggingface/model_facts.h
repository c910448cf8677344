// Facts that differ between the model files of one release of transformers, which fact rows of a
// stack cannot say.
#pragma once

#include "plan/plan.h"

namespace trainfit::frameworks::huggingface {

// Whether the model's flash-attention class repeats keys and values to the number of query heads
// before the kernel, which needs no such thing.
bool FlashRepeatsKeys(const plan::Plan& plan);

}  // namespace trainfit::frameworks::huggingface
