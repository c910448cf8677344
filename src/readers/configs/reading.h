// What the files of a run say, put together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/expected.h"
#include "readers/configs/dialect.h"
#include "readers/configs/draft.h"
#include "spec/model.h"
#include "spec/recipe.h"

namespace trainfit::readers {

enum class Syntax : std::uint8_t { kYaml, kJson, kToml, kCommand, kPython };

struct ReadFile {
  std::string path;
  const Dialect* dialect = nullptr;
  Syntax syntax = Syntax::kYaml;
  std::string text;  // of the whole file
};

struct ConfigReading {
  spec::Recipe recipe;
  std::string model;  // as the files name it; empty: none does
  std::vector<ReadFile> files;
  std::vector<KeyUse> keys;
  std::vector<FilledIn> filled_in;
  Diagnostics warnings;
  std::optional<std::int64_t> processes;     // GPUs that the files start
  std::optional<std::int64_t> global_batch;  // of all ranks and micro-steps together
  SourceSpan sharding_at;                    // where the sharding is stated; line 0: nowhere
  bool load_as_stored = false;               // weights keep the checkpoint's type
  bool has_default_targets = false;          // LoRA on what PEFT chooses for the model
};

struct NamedText {
  std::string name;
  std::string text;
};

// Reads files of any dialect, told by what is in them; a later file overrides an earlier one.
// `instead`: texts to take for files of these paths. Errors: unreadable files, values of a wrong
// kind, and everything that the recipe cannot express, by name.
Expected<ConfigReading> ReadConfigs(const std::vector<std::string>& paths,
                                    const std::vector<NamedText>& instead = {});

// The same of texts in memory. No other file is looked into.
Expected<ConfigReading> ReadConfigTexts(const std::vector<NamedText>& texts);

// Completes what depends on the model: the type of weights as stored, PEFT's targets. Errors: PEFT
// has no targets for this model.
Expected<spec::Recipe> RecipeFor(const ConfigReading& reading, const spec::ModelSpec& model,
                                 std::int64_t gpus);

// Puts the draft's terms together. Problems are added to the draft.
void Conclude(Draft& draft, const Dialect* trainer, ConfigReading& reading);

}  // namespace trainfit::readers
