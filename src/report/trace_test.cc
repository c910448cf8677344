#include "report/trace.h"

#include <gtest/gtest.h>

namespace trainfit::report {
namespace {

TEST(TraceJson, NamesItsTracksAndCountsInMicroseconds) {
  time::TraceProcess process;
  process.name = "every rank";
  process.tracks = {"compute", "copies"};
  process.spans.push_back({"MLP \"up\"", "matrix products", 1, Seconds(1e-3), Seconds(3e-3)});
  const std::string text = TraceJson({process});
  EXPECT_NE(text.find(R"("thread_name")"), std::string::npos);
  EXPECT_NE(text.find(R"("MLP \"up\"")"), std::string::npos);
  const std::size_t event = text.find(R"("ph":"X")");
  ASSERT_NE(event, std::string::npos) << text;
  EXPECT_NE(text.find(R"("tid":1)", event), std::string::npos);
  EXPECT_NE(text.find(R"("ts":1000)", event), std::string::npos);
  EXPECT_NE(text.find(R"("dur":2000)", event), std::string::npos);
}

}  // namespace
}  // namespace trainfit::report
