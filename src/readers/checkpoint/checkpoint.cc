#include "readers/checkpoint/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "config/file_reader.h"
#include "readers/checkpoint/gguf.h"
#include "readers/checkpoint/stored_model.h"
#include "readers/checkpoint/stored_tensors.h"
#include "readers/config_view.h"
#include "readers/model_config.h"

namespace trainfit::readers {
namespace {

namespace fs = std::filesystem;
using config::Node;
using config::NodeKind;

constexpr std::string_view kSafetensors = ".safetensors";
constexpr std::string_view kIndex = ".index.json";
constexpr std::string_view kGguf = ".gguf";

bool Exists(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

std::int64_t ElementsOf(const std::vector<StoredTensor>& tensors) {
  std::int64_t sum = 0;
  for (const StoredTensor& tensor : tensors) {
    if (__builtin_add_overflow(sum, tensor.Elements(), &sum)) return kMaxParameters + 1;
  }
  return sum;
}

Expected<std::vector<StoredTensor>> ReadSafetensors(const std::string& path) {
  // Most headers fit into the first piece.
  constexpr std::size_t kFirst = std::size_t{256} << 10;
  ASSIGN_OR_RETURN(config::FileHead head, config::ReadFileHead(path, kFirst));
  ASSIGN_OR_RETURN(const std::uint64_t length,
                   SafetensorsHeaderLength(path, head.text, head.file_bytes));
  if (head.text.size() < length + 8) {
    ASSIGN_OR_RETURN(head, config::ReadFileHead(path, length + 8));
  }
  return ParseSafetensors(path, head.text, head.file_bytes);
}

// weight_map of an index: tensor → file of the same folder.
Expected<std::map<std::string, std::set<std::string>>> ReadIndex(const std::string& path) {
  config::ReadLimits limits;
  limits.max_bytes = std::size_t{256} << 20;
  ASSIGN_OR_RETURN(const Node root, config::ReadJsonFile(path, limits));
  const Node* map = root.Find("weight_map");
  if (map == nullptr || map->kind != NodeKind::kObject) {
    return Fail(
        ErrorAt(root.Span(), "bad-index", "an index of weights must have a \"weight_map\""));
  }
  std::map<std::string, std::set<std::string>> files;
  for (const config::Member& member : map->members) {
    const std::string& file = member.value.text;
    const bool is_name = member.value.kind == NodeKind::kString && !file.empty() &&
                         file.find('/') == std::string::npos && file != "." && file != "..";
    if (!is_name) {
      return Fail(
          ErrorAt(member.value.Span(), "bad-index",
                  fmt::format("the file of \"{}\" must be a name of the same folder", member.key)));
    }
    files[file].insert(member.key);
  }
  return files;
}

Expected<std::vector<StoredTensor>> ReadIndexed(const std::string& path) {
  ASSIGN_OR_RETURN(const auto files, ReadIndex(path));
  const fs::path folder = fs::path(path).parent_path();
  std::vector<StoredTensor> all;
  for (const auto& [file, names] : files) {
    const std::string at = (folder / file).string();
    if (!Exists(at)) {
      return Fail(Error("missing-file",
                        fmt::format("{} names the file \"{}\", which is not beside it", path, file),
                        "download the files of the index"));
    }
    ASSIGN_OR_RETURN(std::vector<StoredTensor> tensors, ReadSafetensors(at));
    std::size_t found = 0;
    for (const StoredTensor& tensor : tensors) found += names.contains(tensor.name) ? 1U : 0U;
    if (found < names.size()) {
      return Fail(
          Error("bad-index",
                fmt::format("{}: {} of the {} tensors that \"{}\" should have are not in it", path,
                            names.size() - found, names.size(), file),
                "download the files of the index again"));
    }
    std::ranges::move(tensors, std::back_inserter(all));
  }
  return all;
}

Expected<GgufHeader> ReadGguf(const std::string& path) {
  GgufHeader header;
  // Vocabularies of a few megabytes stand before the tensors.
  for (std::size_t bytes = std::size_t{8} << 20;; bytes *= 4) {
    ASSIGN_OR_RETURN(const config::FileHead head, config::ReadFileHead(path, bytes));
    ASSIGN_OR_RETURN(const GgufState state, ParseGguf(path, head.text, head.file_bytes, &header));
    if (state == GgufState::kDone) return header;
    if (bytes > (std::size_t{512} << 20)) {
      return Fail(Error("bad-gguf", fmt::format("{}: a header of more than 512 MiB", path)));
    }
  }
}

Expected<Node> ReadConfigFile(const std::string& path) {
  config::ReadLimits limits;
  limits.max_bytes = std::size_t{2} << 20;
  limits.max_values = 200'000;
  limits.allow_non_finite = true;
  return config::ReadJsonFile(path, limits);
}

void Compare(const spec::ModelSpec& model, std::int64_t stored, Diagnostics* warnings) {
  const std::int64_t counted = spec::ParameterCount(model);
  if (warnings == nullptr || counted == stored) return;
  Diagnostic warning =
      Error("other-count",
            fmt::format("its tensors have {} numbers, the model of its configuration has {} "
                        "parameters",
                        stored, counted));
  warning.severity = Severity::kWarning;
  warnings->push_back(std::move(warning));
}

Expected<spec::ModelSpec> FromGguf(const std::string& path, const std::string& id,
                                   Diagnostics* warnings) {
  ASSIGN_OR_RETURN(GgufHeader header, ReadGguf(path));
  std::map<std::string, std::int64_t> types;
  for (const StoredTensor& tensor : header.tensors) {
    std::int64_t& sum = types[tensor.dtype];
    sum = std::min(kMaxParameters, sum + std::min(kMaxParameters, tensor.Elements()));
  }
  const auto most = std::ranges::max_element(types, {}, [](const auto& t) { return t.second; });
  const std::string format = most == types.end() ? "gguf" : "gguf " + most->first;
  std::string text = ConfigOfGguf(header);
  if (text.empty()) {
    spec::ModelSpec model = ModelOfTensors(id, {std::move(header.tensors), format});
    return model;
  }
  ASSIGN_OR_RETURN(const Node root, config::ParseJson(path, std::move(text)));
  ASSIGN_OR_RETURN(spec::ModelSpec model, ReadModelConfig(root, id, warnings));
  model.checkpoint_quantization = format;
  model.source = "the header of the file";
  Compare(model, ElementsOf(header.tensors), warnings);
  return model;
}

}  // namespace

bool IsCheckpointFile(const std::string& path) {
  return path.ends_with(kSafetensors) || path.ends_with(kIndex) || path.ends_with(kGguf);
}

std::string CheckpointInFolder(const std::string& folder) {
  for (const char* name :
       {"model.safetensors.index.json", "model.safetensors", "diffusion_pytorch_model.safetensors",
        "pytorch_model.bin.index.json", "adapter_model.safetensors"}) {
    const fs::path path = fs::path(folder) / name;
    if (Exists(path)) return path.string();
  }
  std::string first;
  std::error_code error;
  constexpr int kEntriesRead = 10'000;
  int read = 0;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (++read > kEntriesRead) break;
    const std::string path = entry->path().string();
    const bool is_model = path.ends_with(kGguf) || path.ends_with(kSafetensors);
    if (is_model && (first.empty() || path < first)) first = path;
  }
  return first;
}

Expected<spec::ModelSpec> ReadCheckpoint(const std::string& path, const std::string& id,
                                         Diagnostics* warnings) {
  if (path.ends_with(kGguf)) return FromGguf(path, id, warnings);
  const std::string beside = (fs::path(path).parent_path() / "config.json").string();
  const bool has_config = Exists(beside);
  const bool is_index = path.ends_with(kIndex);
  const bool is_pickled = is_index && path.find(".safetensors") == std::string::npos;
  WholeTensors whole;
  if (is_pickled) {
    if (auto index = ReadIndex(path); !index.has_value()) return Fail(std::move(index.error()));
    if (!has_config) {
      return Fail(Error("no-config",
                        fmt::format("{} has names alone; shapes of PyTorch's files are known by "
                                    "unpickling them, which is not done",
                                    path),
                        "put the model's config.json beside it"));
    }
  } else {
    ASSIGN_OR_RETURN(std::vector<StoredTensor> stored,
                     is_index ? ReadIndexed(path) : ReadSafetensors(path));
    whole = Unpack(std::move(stored));
    if (ElementsOf(whole.tensors) > kMaxParameters) {
      return Fail(
          Error("absurd-size", fmt::format("{}: more than {} numbers", path, kMaxParameters)));
    }
  }
  if (!has_config) return ModelOfTensors(id, whole);
  ASSIGN_OR_RETURN(const Node root, ReadConfigFile(beside));
  ASSIGN_OR_RETURN(spec::ModelSpec model, ReadModelConfig(root, id, warnings));
  if (model.checkpoint_quantization.empty()) model.checkpoint_quantization = whole.format;
  // Packed tensors do not tell exactly, and one file of several has a part of them.
  const bool is_part = path.find("-of-") != std::string::npos;
  const bool is_whole = !is_pickled && !is_part && whole.format.empty();
  if (is_whole) Compare(model, ElementsOf(whole.tensors), warnings);
  return model;
}

}  // namespace trainfit::readers
