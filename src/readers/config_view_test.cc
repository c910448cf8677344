#include "readers/config_view.h"

#include <gtest/gtest.h>

#include <string>

#include "config/json_reader.h"

namespace trainfit::readers {
namespace {

class ConfigViewTest : public testing::Test {
 protected:
  ConfigView View(const std::string& text) {
    node_ = config::ParseJson("c.json", text).value();
    return ConfigView(&node_, &node_, &complaints_);
  }

  config::Node node_;
  Complaints complaints_;
};

TEST_F(ConfigViewTest, TheFirstNameThatIsThereWins) {
  const ConfigView view = View(R"({"n_layer": null, "num_layers": 7})");
  EXPECT_EQ(view.Size({"num_hidden_layers", "n_layer", "num_layers"}), 7);
  EXPECT_TRUE(complaints_.errors.empty() && complaints_.warnings.empty());
}

TEST_F(ConfigViewTest, NullIsAbsentUnlessAsked) {
  const ConfigView view = View(R"({"sliding_window": null})");
  EXPECT_FALSE(view.Has("sliding_window"));
  EXPECT_TRUE(view.IsNull("sliding_window"));
  EXPECT_FALSE(view.IsNull("other"));
  EXPECT_EQ(view.CountOr({"sliding_window"}, 5), 5);
}

TEST_F(ConfigViewTest, AWrongValueIsComplainedAboutAndReplacedByAHarmlessOne) {
  const ConfigView view = View(R"({"a": "x", "b": -1, "c": 1.5, "d": 3})");
  EXPECT_EQ(view.SizeOr({"a"}, 9), 1);
  EXPECT_EQ(view.CountOr({"b"}, 9), 0);
  EXPECT_EQ(view.SizeOr({"c"}, 9), 1);
  EXPECT_FALSE(view.FlagOr({"d"}, false));
  EXPECT_EQ(complaints_.errors.size(), 4u);
  for (const Diagnostic& error : complaints_.errors) EXPECT_EQ(error.span.line, 1);
}

TEST_F(ConfigViewTest, SectionsWithDefaultsSayWhatTheyTook) {
  ConfigView section = View(R"({"text_config": {"vocab_size": 5}})").Section("text_config");
  section.SetClass("LlamaConfig");
  section.AllowDefaults();
  EXPECT_EQ(section.Size({"vocab_size"}, 32000), 5);
  EXPECT_EQ(section.Size({"hidden_size"}, 4096), 4096);
  EXPECT_TRUE(complaints_.errors.empty());
  ASSERT_EQ(complaints_.warnings.size(), 1u);
  EXPECT_EQ(complaints_.warnings[0].severity, Severity::kNote);
  EXPECT_EQ(complaints_.warnings[0].message,
            "\"hidden_size\" is not in the file: 4096, the default of LlamaConfig");
}

TEST_F(ConfigViewTest, AnAbsentSectionIsEmptyAndAWrongOneAnError) {
  const ConfigView view = View(R"({"vision_config": 3})");
  EXPECT_EQ(view.Section("text_config").SizeOr({"hidden_size"}, 7), 7);
  EXPECT_TRUE(complaints_.errors.empty());
  EXPECT_EQ(view.Section("vision_config").SizeOr({"hidden_size"}, 7), 7);
  ASSERT_EQ(complaints_.errors.size(), 1u);
  EXPECT_EQ(complaints_.errors[0].message, "\"vision_config\" must be an object");
}

}  // namespace
}  // namespace trainfit::readers
