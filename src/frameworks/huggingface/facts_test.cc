// Every question has an answer for every version: a gap would end the program.
#include "frameworks/huggingface/facts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace trainfit::frameworks::huggingface {
namespace {

using plan::FactRow;
using plan::Version;

// Versions at which a row of the package begins or ends, one before all and one after all.
std::vector<Version> Boundaries(const std::string& package) {
  std::vector<Version> versions = {{0, 0, 1}, {99, 0, 0}};
  for (const FactRow& row : FactRows()) {
    if (package != row.package) continue;
    versions.push_back(row.since);
    if (row.until != Version{}) versions.push_back(row.until);
  }
  return versions;
}

bool Answers(const FactRow& row, const plan::Stack& stack) {
  const Version version = stack.Of(row.package);
  return version >= row.since && (row.until == Version{} || version < row.until);
}

TEST(FactRows, AnswerEveryQuestionForEveryVersion) {
  const plan::Stack current = CurrentStack();
  for (std::size_t i = 0; i < current.packages.size(); ++i) {
    for (const Version version : Boundaries(current.packages[i].name)) {
      plan::Stack stack = current;
      stack.packages[i].version = version;
      for (const FactRow& asked : FactRows()) {
        const auto is_answer = [&](const FactRow& row) {
          return row.fact == asked.fact && Answers(row, stack);
        };
        EXPECT_TRUE(std::any_of(FactRows().begin(), FactRows().end(), is_answer))
            << "question " << static_cast<int>(asked.fact) << " (" << asked.what << ") for "
            << stack.Text();
      }
    }
  }
}

TEST(FactRows, SayWhatTheyMeanAndWhereItWasRead) {
  for (const FactRow& row : FactRows()) {
    EXPECT_STRNE(row.what, "");
    EXPECT_STRNE(row.source, "") << row.what;
    EXPECT_TRUE(row.until == Version{} || row.since < row.until) << row.what;
  }
}

}  // namespace
}  // namespace trainfit::frameworks::huggingface
