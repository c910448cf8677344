// One record of the catalogue, or one model, in full.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/expected.h"
#include "catalog/catalog.h"
#include "plan/peft_tensors.h"
#include "report/date.h"
#include "report/sheet.h"
#include "spec/model.h"

namespace trainfit::api {

// `assumptions`: how the name was taken, if that was not certain.
Expected<report::Sheet> SheetOf(const catalog::Catalog& catalog, catalog::Kind kind,
                                const std::string& id, const std::vector<std::string>& assumptions,
                                const std::optional<report::Date>& today);

// `record`: the model's in the catalogue, if it has one. The JSON always has the tensors.
// `adapter`: what PEFT trains of it; null: the model itself is trained.
report::Sheet ModelSheet(const spec::ModelSpec& model, const config::Node* record,
                         const std::vector<std::string>& notes, bool with_tensors,
                         const plan::PeftTensors* adapter = nullptr);

}  // namespace trainfit::api
