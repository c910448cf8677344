// How near the predictions come to published measurements, where the file lies beside the checkout.
// The thresholds are what `trainfit validate` printed when they were last lowered, rounded up: a
// change that makes a source worse must say so here.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "validate/validate.h"

namespace trainfit::validate {
namespace {

constexpr const char* kFile = "../shared/truth/memory_published.jsonl";

struct Threshold {
  std::string source;
  std::int64_t compared;  // at least so many rows with a number
  double median;          // of the absolute errors, at most
};

TEST(MemoryPublished, ErrorsStayBelowWhatWasReached) {
  std::error_code error;
  if (!std::filesystem::exists(kFile, error)) GTEST_SKIP() << kFile << " is not here";
  const Expected<Validation> validation = Validate({kFile}, catalog::Catalog());
  ASSERT_TRUE(validation.has_value());
  EXPECT_TRUE(validation->bad_lines.empty());
  const std::vector<Group> groups = Summarize(validation->rows, GroupBy::kSource);
  for (const Threshold& threshold :
       {Threshold{"fms", 156, 0.005}, Threshold{"peft", 30, 0.04}, Threshold{"qwen", 71, 0.06},
        Threshold{"swift", 53, 0.16}, Threshold{"mcore", 73, 0.009},
        Threshold{"simumax", 13, 0.012}, Threshold{"liger", 109, 0.001},
        Threshold{"bigscience", 50, 0.09}, Threshold{"litgpt", 25, 0.08},
        Threshold{"titan", 24, 0.055}, Threshold{"fsdpqlora", 12, 0.06}}) {
    for (const Group& group : groups) {
      if (group.name != threshold.source) continue;
      EXPECT_GE(group.errors.count, threshold.compared) << threshold.source;
      EXPECT_LE(group.errors.median, threshold.median) << threshold.source;
    }
  }
}

}  // namespace
}  // namespace trainfit::validate
