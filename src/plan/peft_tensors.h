// The tensors that a PEFT adapter adds to a model, and what of the model is trained beside them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/expected.h"
#include "spec/model.h"
#include "spec/peft.h"

namespace trainfit::plan {

struct PeftTensor {
  std::string name;  // of the module, and of the adapter's part: "model.layers.0.q_proj.lora_A"
  std::vector<std::int64_t> shape;
};

struct PeftTensors {
  std::vector<PeftTensor> added;
  // Parameters of the model that are trained: biases, norms, copies of modules_to_save.
  std::int64_t trained_of_model = 0;

  std::int64_t Added() const;
  std::int64_t Trainable() const { return Added() + trained_of_model; }
};

// As get_peft_model of peft 0.21.2 makes them (tuners/KIND/layer.py, update_layer; which modules:
// tuners/tuners_utils.py, check_target_module_exists). Module names are those of checkpoints.
// Errors: expressions that are none, targets that the model does not have, sizes that do not
// divide.
Expected<PeftTensors> ExpandPeft(const spec::ModelSpec& model, const spec::PeftConfig& config);

}  // namespace trainfit::plan
