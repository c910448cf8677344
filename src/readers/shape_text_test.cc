#include "readers/shape_text.h"

#include <gtest/gtest.h>

namespace trainfit::readers {
namespace {

Expected<spec::ModelSpec> Read(const std::string& text, Diagnostics* notes = nullptr) {
  auto shape = ReadShapeText(text, notes);
  if (!shape.has_value()) return Fail(Error("none", "no shape"));
  return std::move(*shape);
}

std::string ErrorOf(const std::string& text) {
  const auto model = Read(text);
  return model.has_value() ? "no error" : model.error().front().message;
}

TEST(ShapeTextTest, AGptOfItsMainSizes) {
  Diagnostics notes;
  const auto model = Read("gpt:layers=30,hidden=3072,heads=32,seq=2048", &notes);
  ASSERT_TRUE(model.has_value());
  // 12 · layers · width² and the biases and norms of GPT-2, two tables.
  EXPECT_EQ(spec::ParameterCount(*model),
            30LL * (12LL * 3072 * 3072 + 13 * 3072) + (51200LL + 2048) * 3072 + 2 * 3072);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].message, "a vocabulary of 51200 is assumed: vocab=… says another");
}

TEST(ShapeTextTest, AnyFamilyWithItsKeys) {
  const auto model =
      Read("mixtral:layers=2,hidden=64,heads=4,kv_heads=2,ffn=96,vocab=100,experts=4,top_k=2");
  ASSERT_TRUE(model.has_value());
  EXPECT_EQ(model->Text().kinds[0].mlp.experts, 4);
}

TEST(ShapeTextTest, MistakesAreNamed) {
  EXPECT_EQ(ErrorOf("gtp:layers=1"), "there is no family \"gtp\"");
  EXPECT_EQ(ErrorOf("gpt:layers=1,hiden=3"), "a shape has no \"hiden\"");
  EXPECT_EQ(ErrorOf("gpt:layers=1,layers=2"), "\"layers\" is there twice");
  EXPECT_NE(ErrorOf("gpt:layers=many").find("is no \"key=number\""), std::string::npos);
  EXPECT_NE(ErrorOf("gpt:layers=2,heads=2").find("is missing"), std::string::npos);
  EXPECT_EQ(ErrorOf("org/model"), "no shape");
  EXPECT_EQ(ErrorOf("C:model"), "no shape");
  EXPECT_EQ(ErrorOf("https://host/org/model?a=b"), "no shape");
}

TEST(ShapeTextTest, ABareSizeIsATypicalShapeAndSaysSo) {
  Diagnostics notes;
  const auto seven = Read("7B", &notes);
  ASSERT_TRUE(seven.has_value());
  EXPECT_EQ(spec::ParameterCount(*seven), 6'738'415'616);
  ASSERT_FALSE(notes.empty());
  EXPECT_NE(notes[0].message.find("the shape of Llama 2 7B"), std::string::npos);
  for (const auto& [text, params] : {std::pair("350M", 350e6),
                                     {"2.7b", 2.7e9},
                                     {"20B", 20e9},
                                     {"175B", 175e9},
                                     {"1000B", 1e12}}) {
    const auto model = Read(text);
    ASSERT_TRUE(model.has_value()) << text;
    EXPECT_NEAR(static_cast<double>(spec::ParameterCount(*model)), params, 0.04 * params) << text;
  }
  EXPECT_NE(ErrorOf("0.001M").find("a typical shape is known from"), std::string::npos);
}

}  // namespace
}  // namespace trainfit::readers
