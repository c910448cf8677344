// The model of a run: from the catalogue by name, or built from the sizes that the record gives.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/expected.h"
#include "catalog/catalog.h"
#include "spec/model.h"
#include "validate/record.h"

namespace trainfit::validate {

using ModelPointer = std::shared_ptr<const spec::ModelSpec>;

// Finds models and remembers them: files of records name few models many times.
class ModelFinder {
 public:
  explicit ModelFinder(const catalog::Catalog& catalog) : catalog_(catalog) {}

  // The catalogue's model when it has that name and does not contradict the record's sizes; else
  // one of those sizes. Errors: neither is possible; one sentence that can stand as a reason.
  Expected<ModelPointer> Find(const Run& run);

 private:
  const catalog::Catalog& catalog_;
  std::map<std::string, Expected<ModelPointer>> known_;
};

// What a GPT-like model's sizes do not say, GPT-2's own unless the framework builds others.
struct GptStyle {
  std::string_view activation = "gelu_new";
  double dropout = 0.1;
};

// The sizes of a record as a config.json: GPT-2's keys for learned positions and a plain MLP,
// Llama's for the rest. Errors: sizes that are missing, or parts that need more than sizes.
Expected<std::string> ConfigOfSizes(const config::Node& arch, const GptStyle& style = {});

}  // namespace trainfit::validate
