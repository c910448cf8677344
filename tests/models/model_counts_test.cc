// Every model of the catalogue: what is read from its configuration has exactly the parameters that
// the catalogue states from published counts.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "config/file_reader.h"
#include "readers/model_config.h"

namespace trainfit::readers {
namespace {

std::vector<std::string> ModelFiles() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator("data/models")) {
    if (entry.path().extension() == ".json") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string Rendered(const Diagnostics& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) text += RenderText(diagnostic);
  return text;
}

void ExpectPublishedCounts(const config::Node& file) {
  const config::Node* config = file.Find("config");
  ASSERT_NE(config, nullptr);
  Diagnostics warnings;
  const auto model = ReadModelConfig(*config, file.Find("id")->text, &warnings);
  ASSERT_TRUE(model.has_value()) << Rendered(model.error());
  for (const Diagnostic& warning : warnings) {
    EXPECT_NE(warning.severity, Severity::kWarning) << RenderText(warning);
  }

  const std::int64_t params = file.Find("params")->integer;
  EXPECT_EQ(ParameterCount(*model), params);
  const config::Node* active = file.Find("active_params");
  EXPECT_EQ(ActiveParameterCount(*model), active == nullptr ? params : active->integer);
  const config::Node* tied = file.Find("tied_embeddings");
  if (tied != nullptr && tied->kind == config::NodeKind::kBool) {
    EXPECT_EQ(model->tied_head, tied->boolean);
  }
}

// What a lowering relies on, whatever the family.
void ExpectWellFormed(const spec::ModelSpec& model) {
  ASSERT_FALSE(model.stacks.empty());
  std::set<std::string> names;
  const auto expect_new = [&](const std::string& prefix, const spec::TensorSpec& tensor) {
    EXPECT_TRUE(names.insert(prefix + tensor.name).second) << prefix << tensor.name;
    EXPECT_GT(tensor.copies, 0) << tensor.name;
    EXPECT_TRUE(tensor.copies == 1 || tensor.name.find("{e}") != std::string::npos) << tensor.name;
    EXPECT_TRUE(!tensor.is_linear || tensor.shape.size() == 2) << tensor.name;
  };
  for (const spec::Stack& stack : model.stacks) {
    for (const spec::TensorSpec& tensor : stack.before) expect_new("", tensor);
    for (const spec::TensorSpec& tensor : stack.after) expect_new("", tensor);
    std::int64_t next = 0;
    for (const spec::LayerRun& run : stack.runs) {
      EXPECT_EQ(run.first, next);
      EXPECT_GT(run.count, 0);
      next += run.count;
      ASSERT_LT(static_cast<std::size_t>(run.kind), stack.kinds.size());
    }
    for (std::size_t k = 0; k < stack.kinds.size(); ++k) {
      const std::string prefix = stack.layer_prefix + std::to_string(k) + "/";
      for (const spec::TensorSpec& tensor : stack.kinds[k].tensors) expect_new(prefix, tensor);
    }
  }
}

TEST(CatalogueModelsTest, HaveThePublishedNumbersOfParameters) {
  const std::vector<std::string> paths = ModelFiles();
  ASSERT_GE(paths.size(), 170u);
  for (const std::string& path : paths) {
    SCOPED_TRACE(path);
    const auto file = config::ReadJsonFile(path);
    ASSERT_TRUE(file.has_value()) << Rendered(file.error());
    ExpectPublishedCounts(*file);
  }
}

TEST(CatalogueModelsTest, AreWellFormed) {
  for (const std::string& path : ModelFiles()) {
    SCOPED_TRACE(path);
    const auto file = config::ReadJsonFile(path);
    ASSERT_TRUE(file.has_value());
    const auto model = ReadModelConfig(*file->Find("config"), "test", nullptr);
    ASSERT_TRUE(model.has_value());
    ExpectWellFormed(*model);
  }
}

}  // namespace
}  // namespace trainfit::readers
