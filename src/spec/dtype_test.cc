#include "spec/dtype.h"

#include <gtest/gtest.h>

namespace trainfit::spec {
namespace {

TEST(DtypeTest, ReadsTheSpellingsOfConfigFiles) {
  EXPECT_EQ(ParseDtype("bfloat16"), Dtype::kBf16);
  EXPECT_EQ(ParseDtype("torch.bfloat16"), Dtype::kBf16);
  EXPECT_EQ(ParseDtype("BF16"), Dtype::kBf16);
  EXPECT_EQ(ParseDtype("half"), Dtype::kFp16);
  EXPECT_EQ(ParseDtype("float"), Dtype::kFp32);
  EXPECT_EQ(ParseDtype("float8_e4m3fn"), Dtype::kFp8E4m3);
  EXPECT_EQ(ParseDtype("F8_E4M3"), Dtype::kFp8E4m3);
  EXPECT_EQ(ParseDtype("I64"), Dtype::kInt64);
  EXPECT_EQ(ParseDtype("auto"), std::nullopt);
  EXPECT_EQ(ParseDtype(""), std::nullopt);
  EXPECT_EQ(ParseDtype("torch."), std::nullopt);
}

TEST(DtypeTest, EveryTypeReadsItsOwnName) {
  for (const Dtype dtype :
       {Dtype::kFp32, Dtype::kFp16, Dtype::kBf16, Dtype::kFp8E4m3, Dtype::kFp8E5m2, Dtype::kInt8,
        Dtype::kUint8, Dtype::kInt32, Dtype::kInt64, Dtype::kBool}) {
    EXPECT_EQ(ParseDtype(Name(dtype)), dtype) << Name(dtype);
    EXPECT_GT(ElementBytes(dtype), 0);
  }
  EXPECT_EQ(ElementBytes(Dtype::kBf16), 2);
  EXPECT_EQ(ElementBytes(Dtype::kInt64), 8);
}

}  // namespace
}  // namespace trainfit::spec
