// Requests of out-of-memory messages that people reported, whose tensor is known: the search has to
// name it first. oom_requests.jsonl has the numbers and where they were reported.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "config/json_reader.h"
#include "readers/model_config.h"
#include "readers/oom_message.h"
#include "verdict/allocation_search.h"

namespace trainfit {
namespace {

TEST(OomRequests, TheSearchNamesTheTensorFirst) {
  std::ifstream file("tests/truth/oom_requests.jsonl");
  ASSERT_TRUE(file.is_open());
  std::string line;
  int rows = 0;
  while (std::getline(file, line)) {
    SCOPED_TRACE(line.substr(0, 80));
    const auto row = config::ParseJson("row", line);
    ASSERT_TRUE(row.has_value());
    const auto message = readers::ReadOomMessage(
        "row", "torch.OutOfMemoryError: CUDA out of memory. " + row->Find("numbers")->text);
    ASSERT_TRUE(message.has_value());
    ASSERT_TRUE(message->requested.has_value());
    verdict::OomQuestion question;
    question.low = message->requested->low;
    question.high = message->requested->high;
    if (row->Find("ranks")->kind == config::NodeKind::kInt) {
      question.ranks = row->Find("ranks")->integer;
    }
    std::optional<spec::ModelSpec> model;
    if (const config::Node* config = row->Find("model");
        config->kind == config::NodeKind::kObject) {
      auto read = readers::ReadModelConfig(*config, config->Find("id")->text, nullptr);
      ASSERT_TRUE(read.has_value()) << read.error()[0].message;
      model = std::move(*read);
    }
    const auto found = verdict::SearchShapes(model ? &*model : nullptr, question);
    ASSERT_FALSE(found.empty());
    EXPECT_EQ(Name(found[0].cause), row->Find("cause")->text);
    EXPECT_NE(found[0].formula.find(row->Find("formula")->text), std::string::npos)
        << found[0].formula;
    ++rows;
  }
  EXPECT_EQ(rows, 3);
}

}  // namespace
}  // namespace trainfit
