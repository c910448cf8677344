// Where a model's configuration is found: catalogue, path, Hugging Face cache.
#pragma once

#include <memory>
#include <string>

#include "api/api.h"
#include "base/expected.h"
#include "catalog/catalog.h"
#include "spec/model.h"

namespace trainfit::api {

// Looks, in this order: a path (of a config.json, of weights, or of a folder with one of these), a
// shape written out ("gpt:layers=30,hidden=3072,heads=32", "7B"), the catalogue, the hub
// cache on disk, the model of the catalogue that the name seems to mean. Errors: nothing found,
// with near names and the command that downloads the file.
Expected<std::shared_ptr<const spec::ModelSpec>> FindModel(const catalog::Catalog& catalog,
                                                           const ModelQuery& query,
                                                           Diagnostics* warnings);

// True when the name is meant as a path (it looks like one, or is there) or is a shape.
bool IsModelFile(const std::string& name);

}  // namespace trainfit::api
