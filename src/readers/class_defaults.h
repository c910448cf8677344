// Sizes that a configuration class of transformers fills in for keys the file leaves out.
#pragma once

#include <cstdint>
#include <string_view>

namespace trainfit::readers {

// Zero: the class has no number of its own (kv_heads: as many as heads; head_dim: hidden / heads).
struct ClassDefaults {
  std::string_view model_type;
  std::string_view class_name;
  std::int64_t vocab = 0;
  std::int64_t hidden = 0;
  std::int64_t intermediate = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t max_positions = 0;
  bool tied = false;  // tie_word_embeddings
};

// The row of a model type; an unknown one gets a row without numbers.
const ClassDefaults& DefaultsOf(std::string_view model_type);

}  // namespace trainfit::readers
