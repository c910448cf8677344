// The model that stored tensors are of, as far as they tell.
#pragma once

#include <string>
#include <vector>

#include "readers/checkpoint/stored_tensors.h"
#include "spec/model.h"

namespace trainfit::readers {

// What quantizers store in place of a weight, put together again: the packed matrix becomes the
// matrix that it stands for, scales and zero points are left out.
struct WholeTensors {
  std::vector<StoredTensor> tensors;
  // "gptq", "awq", "bnb-4bit", "bnb-8bit", "fp8", "mxfp4", "compressed-tensors", "torchao"; empty:
  // as they were trained.
  std::string format;
};
WholeTensors Unpack(std::vector<StoredTensor> stored);

// A model of tensors alone: names, shapes and counts, no layers that a program could be made of.
spec::ModelSpec ModelOfTensors(const std::string& id, const WholeTensors& whole);

}  // namespace trainfit::readers
