#include "api/model_source.h"

#include <filesystem>
#include <optional>
#include <system_error>

#include "base/text.h"
#include "config/file_reader.h"
#include "readers/checkpoint/checkpoint.h"
#include "readers/model_config.h"
#include "readers/shape_text.h"

namespace trainfit::api {
namespace {

namespace fs = std::filesystem;

using ModelPointer = std::shared_ptr<const spec::ModelSpec>;

constexpr const char* kConfigName = "config.json";

// "org/name": one slash, letters that a hub id may have.
bool IsHubId(std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash == 0 || slash == std::string_view::npos || slash + 1 == name.size()) return false;
  if (name.find('/', slash + 1) != std::string_view::npos) return false;
  return name.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./") ==
         std::string_view::npos;
}

// A name that is meant as a path, whether it is there or not.
bool LooksLikePath(std::string_view name) {
  return name.starts_with('/') || name.starts_with("./") || name.starts_with("../") ||
         name.starts_with('~') || name.ends_with(".json") ||
         readers::IsCheckpointFile(std::string(name));
}

bool Exists(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

bool IsFolder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

Expected<ModelPointer> ReadConfig(const config::Node& root, const std::string& id,
                                  Diagnostics* warnings) {
  ASSIGN_OR_RETURN(spec::ModelSpec model, readers::ReadModelConfig(root, id, warnings));
  return std::make_shared<const spec::ModelSpec>(std::move(model));
}

Expected<ModelPointer> ReadFile(const std::string& path, const std::string& id,
                                Diagnostics* warnings) {
  if (readers::IsCheckpointFile(path)) {
    ASSIGN_OR_RETURN(spec::ModelSpec model, readers::ReadCheckpoint(path, id, warnings));
    return std::make_shared<const spec::ModelSpec>(std::move(model));
  }
  config::ReadLimits limits;
  // The largest configuration files are some 100 kB; a limit keeps a wrong file from costing
  // seconds.
  limits.max_bytes = std::size_t{2} << 20;
  limits.max_values = 200'000;
  limits.allow_non_finite = true;  // transformers writes Infinity into some configurations
  ASSIGN_OR_RETURN(const config::Node root, config::ReadJsonFile(path, limits));
  return ReadConfig(root, id, warnings);
}

// A model of the catalogue; what its name was taken to mean becomes warnings.
Expected<ModelPointer> ReadRecord(const catalog::Match<catalog::ModelRecord>& found,
                                  Diagnostics* warnings) {
  const catalog::ModelRecord& record = found.record;
  ASSIGN_OR_RETURN(spec::ModelSpec model,
                   readers::ReadModelConfig(record.config, record.id, warnings));
  model.license = record.license;
  model.source = record.source;
  for (const std::string& assumption : found.assumptions) {
    if (found.is_same_shape) break;
    Diagnostic warning = Error("assumed-model", assumption);
    warning.severity = Severity::kWarning;
    warnings->push_back(std::move(warning));
  }
  return std::make_shared<const spec::ModelSpec>(std::move(model));
}

// <cache>/models--ORG--NAME/snapshots/<revision>/config.json, the revision that refs/main names.
std::optional<std::string> FindInHubCache(const std::string& cache, const std::string& id) {
  if (cache.empty()) return std::nullopt;
  std::string folder = "models--" + id;
  folder.replace(folder.find('/'), 1, "--");
  const fs::path repository = fs::path(cache) / folder;
  config::ReadLimits limits;
  limits.max_bytes = 200;
  const auto revision = config::ReadTextFile((repository / "refs" / "main").string(), limits);
  if (!revision.has_value() || revision->find('/') != std::string::npos) return std::nullopt;
  const std::string trimmed = revision->substr(0, revision->find_first_of(" \r\n"));
  const fs::path config = repository / "snapshots" / trimmed / kConfigName;
  if (!Exists(config)) return std::nullopt;
  return config.string();
}

Diagnostics NotFound(const catalog::Catalog& catalog, const std::string& name,
                     Diagnostics from_catalog) {
  if (!IsHubId(name)) return from_catalog;
  Diagnostic error =
      Error("unknown-model",
            Quoted(name) + " is not in the catalogue, nor in the Hugging Face cache here",
            "hf download " + name + " config.json");
  for (const std::string& near : catalog.Near(catalog::Kind::kModel, name)) {
    error.notes.push_back("a known name near it: " + near);
  }
  return {error};
}

}  // namespace

Expected<ModelPointer> FindModel(const catalog::Catalog& catalog, const ModelQuery& query,
                                 Diagnostics* warnings) {
  const std::string& name = query.name;
  if (LooksLikePath(name) || IsFolder(name)) {
    if (!IsFolder(name)) return ReadFile(name, name, warnings);
    const std::string config = (fs::path(name) / kConfigName).string();
    const std::string weights = Exists(config) ? "" : readers::CheckpointInFolder(name);
    return ReadFile(weights.empty() ? config : weights, name, warnings);
  }
  if (const auto shape = readers::ReadShapeText(name, warnings); shape.has_value()) {
    if (!shape->has_value()) return Fail(shape->error());
    return std::make_shared<const spec::ModelSpec>(**shape);
  }
  auto found = catalog.FindModel(name);
  if (found.has_value()) return ReadRecord(*found, warnings);
  if (IsHubId(name)) {
    if (const auto path = FindInHubCache(query.hf_cache, name); path.has_value()) {
      return ReadFile(*path, name, warnings);
    }
  }
  if (Exists(name)) return ReadFile(name, name, warnings);
  if (const auto guessed = catalog.GuessModel(name); guessed.has_value()) {
    return ReadRecord(*guessed, warnings);
  }
  return Fail(NotFound(catalog, name, std::move(found).error()));
}

bool IsModelFile(const std::string& name) {
  return LooksLikePath(name) || Exists(name) || readers::IsShapeText(name);
}

}  // namespace trainfit::api
