// The programs that records were run with, and what of the Hugging Face stack each one is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/expected.h"
#include "plan/facts.h"
#include "spec/recipe.h"
#include "validate/record.h"

namespace trainfit::validate {

// What spreads the model over ranks.
enum class Spreader : std::uint8_t { kNone, kFsdp1, kDeepSpeed };

// A training program whose forward, backward and step are those of a stack with fact rows.
struct KnownFramework {
  std::string_view name;   // as records write it, without "+fsdp" and the like
  std::string_view facts;  // name for frameworks::FindFacts
  // Whether weights loaded in 16 bits are still run under autocast, where the record's settings do
  // not say.
  bool has_autocast = true;
  // torch.optim directly instead of through transformers' TrainingArguments.
  bool has_plain_optimizer = false;
  std::string_view source;
  // reduce_bucket_size of its ZeRO-2 configuration; 0: "auto", as transformers fills it in.
  std::int64_t zero2_bucket = 0;
  bool splits_models = false;  // Megatron's relatives: their flags are read by megatron_run.h
  spec::Sharding fsdp = spec::Sharding::kFsdp1;  // what "fsdp" in a record means
  // GPT-like models of given sizes have an exact GELU and no dropout.
  bool has_plain_gpt = false;
  // "selective" checkpointing is that of spec::Checkpointing::kPerOperator.
  bool has_selective = false;
  // LoRA targets are named by what they are: "query", "projection", "mlp".
  bool names_parts = false;
  // Head and loss go by pieces only where a record's kernels say so.
  bool chunks_loss_by_choice = false;
  // A head that is tied to the embedding elsewhere is a matrix of its own (litgpt/model.py).
  bool unties_head = false;
  // Splits layers over tensor ranks, and nothing else of a model.
  bool splits_layers = false;
};

struct FrameworkMatch {
  const KnownFramework* known = nullptr;  // nullptr: no fact rows yet
  std::string name;                       // without the spreader
  Spreader spreader = Spreader::kNone;
};
FrameworkMatch MatchFramework(std::string_view written);

// Facts of the versions that the record names. A package that it does not name is the release that
// was current when the newest named one came out; no versions at all: the current stack.
Expected<plan::FactTable> FactsOf(const KnownFramework& framework, std::string_view versions);

}  // namespace trainfit::validate
