// Headers of weights: what is read of good ones, and that bad ones are refused with a reason.
#include "readers/checkpoint/checkpoint.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "readers/checkpoint/gguf.h"
#include "readers/checkpoint/stored_model.h"

namespace trainfit::readers {
namespace {

namespace fs = std::filesystem;

template <typename T>
std::string Little(T value) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof(T); ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
  return bytes;
}

std::string Safetensors(const std::string& header, std::size_t data) {
  return Little<std::uint64_t>(header.size()) + header + std::string(data, '\0');
}

std::string ErrorOf(const std::string& file) {
  const auto tensors = ParseSafetensors("x", file, file.size());
  return tensors.has_value() ? "no error" : tensors.error().front().message;
}

TEST(SafetensorsTest, NamesTypesAndShapes) {
  const std::string file = Safetensors(
      R"({"__metadata__": {"format": "pt"}, "a.weight": {"dtype": "BF16", "shape": [2, 3],
          "data_offsets": [0, 12]}, "b": {"dtype": "F32", "shape": [], "data_offsets": [12, 16]}}  )",
      16);
  const auto tensors = ParseSafetensors("x", file, file.size());
  ASSERT_TRUE(tensors.has_value()) << ErrorOf(file);
  ASSERT_EQ(tensors->size(), 2u);
  EXPECT_EQ((*tensors)[0].name, "a.weight");
  EXPECT_EQ((*tensors)[0].shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ((*tensors)[1].Elements(), 1);
}

TEST(SafetensorsTest, LiesAreFound) {
  EXPECT_EQ(ErrorOf("abc"), "x: 3 bytes are no safetensors file");
  EXPECT_NE(
      ErrorOf(Little<std::uint64_t>(1'000'000) + "{}").find("has 1000000 bytes; the file has"),
      std::string::npos);
  const auto error = [](const std::string& tensors, std::size_t data) {
    return ErrorOf(Safetensors("{" + tensors + "}", data));
  };
  const std::string a = R"("a": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]})";
  EXPECT_EQ(error(a, 4), "no error");
  EXPECT_NE(error(a, 3).find("\"a\" lies at bytes 0 to 4 of 3"), std::string::npos);
  EXPECT_NE(error(a + R"(, "b": {"dtype": "U8", "shape": [4], "data_offsets": [3, 7]})", 8)
                .find("\"b\" overlaps the tensor before it"),
            std::string::npos);
  EXPECT_NE(error(a + ", " + a, 4).find("is there twice"), std::string::npos);
  EXPECT_NE(error(R"("a": {"dtype": "U8", "shape": [5], "data_offsets": [0, 4]})", 4)
                .find("which its shape and type do not make"),
            std::string::npos);
  EXPECT_NE(error(R"("a": {"dtype": "F16", "shape": [4294967296, 4294967296, 4294967296],
                           "data_offsets": [0, 4]})",
                  4)
                .find("which its shape and type do not make"),
            std::string::npos);
  EXPECT_NE(error(R"("a": {"dtype": "XX", "shape": [4], "data_offsets": [0, 4]})", 4)
                .find("unknown type \"XX\""),
            std::string::npos);
  EXPECT_NE(error(R"("a": {"dtype": "U8", "shape": [4]})", 4).find("must have dtype"),
            std::string::npos);
  EXPECT_NE(error(R"("a": [1])", 4).find("must be an object"), std::string::npos);
  EXPECT_NE(error(R"("a)", 4).find("a string does not end"), std::string::npos);
}

TEST(SafetensorsTest, HundredsOfThousandsOfTensorsTakeMoments) {
  constexpr int kTensors = 200'000;
  std::string header = "{";
  for (int i = 0; i < kTensors; ++i) {
    header += fmt::format(R"({}"t{}":{{"dtype":"U8","shape":[1],"data_offsets":[{},{}]}})",
                          i == 0 ? "" : ",", i, i, i + 1);
  }
  header += "}";
  const std::string file = Little<std::uint64_t>(header.size()) + header;
  const auto tensors = ParseSafetensors("x", file, file.size() + kTensors);
  ASSERT_TRUE(tensors.has_value());
  EXPECT_EQ(tensors->size(), static_cast<std::size_t>(kTensors));
}

StoredTensor Stored(std::string name, std::string dtype, std::vector<std::int64_t> shape) {
  return {std::move(name), std::move(dtype), std::move(shape)};
}

TEST(StoredModelTest, QuantizedMatricesArePutTogetherAgain) {
  struct Case {
    const char* format;
    std::vector<StoredTensor> stored;
    std::vector<std::int64_t> shape;
  };
  const Case cases[] = {
      {"gptq",
       {Stored("q.qweight", "I32", {16, 256}), Stored("q.qzeros", "I32", {1, 32}),
        Stored("q.scales", "F16", {1, 256}), Stored("q.g_idx", "I32", {128})},
       {256, 128}},
      {"gptq",  // 8 bits: four in a word
       {Stored("q.qweight", "I32", {32, 256}), Stored("q.scales", "F16", {1, 256}),
        Stored("q.g_idx", "I32", {128})},
       {256, 128}},
      {"awq",
       {Stored("q.qweight", "I32", {128, 32}), Stored("q.qzeros", "I32", {1, 32}),
        Stored("q.scales", "F16", {1, 256})},
       {256, 128}},
      {"bnb-4bit",
       {Stored("q.weight", "U8", {16384, 1}), Stored("q.weight.absmax", "U8", {512}),
        Stored("q.weight.quant_map", "F32", {16}),
        Stored("q.weight.quant_state.bitsandbytes__nf4", "U8", {90})},
       {32768}},
      {"bnb-8bit",
       {Stored("q.weight", "I8", {256, 128}), Stored("q.SCB", "F32", {256})},
       {256, 128}},
      {"fp8",
       {Stored("q.weight", "F8_E4M3", {256, 128}), Stored("q.weight_scale_inv", "F32", {2, 1})},
       {256, 128}},
      {"mxfp4",
       {Stored("up_blocks", "U8", {4, 64, 2, 16}), Stored("up_scales", "U8", {4, 64, 2})},
       {4, 64, 64}},
      {"compressed-tensors",
       {Stored("q.weight_packed", "I32", {256, 16}), Stored("q.weight_scale", "BF16", {256, 1}),
        Stored("q.weight_shape", "I64", {2})},
       {256, 128}},
      {"torchao",
       {Stored("q._weight_qdata", "I8", {256, 128}), Stored("q._weight_scale", "F32", {256, 1})},
       {256, 128}},
      {"", {Stored("q.weight", "BF16", {256, 128})}, {256, 128}},
  };
  for (const Case& c : cases) {
    const WholeTensors whole = Unpack(c.stored);
    EXPECT_EQ(whole.format, c.format) << c.stored[0].name;
    ASSERT_EQ(whole.tensors.size(), 1u) << c.format;
    EXPECT_EQ(whole.tensors[0].shape, c.shape) << c.format;
  }
}

TEST(StoredModelTest, LayersComeInTheOrderOfTheirNumbers) {
  const spec::ModelSpec model =
      ModelOfTensors("x", Unpack({Stored("l.10.w", "F32", {2}), Stored("l.9.w", "F32", {3})}));
  EXPECT_EQ(model.Text().before[0].name, "l.9.w");
  EXPECT_EQ(spec::ParameterCount(model), 5);
  EXPECT_NE(model.not_simulated, "");
}

std::string GgufText(const std::string& text) { return Little<std::uint64_t>(text.size()) + text; }
std::string GgufWord(const std::string& key, const std::string& value) {
  return GgufText(key) + Little<std::uint32_t>(8) + GgufText(value);
}
std::string GgufNumber(const std::string& key, std::uint32_t value) {
  return GgufText(key) + Little<std::uint32_t>(4) + Little(value);
}
std::string GgufTensor(const std::string& name, std::uint64_t in, std::uint64_t out) {
  return GgufText(name) + Little<std::uint32_t>(2) + Little(in) + Little(out) +
         Little<std::uint32_t>(12) + Little<std::uint64_t>(0);
}

std::string SmallGguf() {
  return "GGUF" + Little<std::uint32_t>(3) + Little<std::uint64_t>(1) + Little<std::uint64_t>(7) +
         GgufWord("general.architecture", "llama") + GgufNumber("llama.block_count", 2) +
         GgufNumber("llama.embedding_length", 64) + GgufNumber("llama.feed_forward_length", 96) +
         GgufNumber("llama.attention.head_count", 4) +
         GgufNumber("llama.attention.head_count_kv", 2) + GgufText("tokenizer.ggml.tokens") +
         Little<std::uint32_t>(9) + Little<std::uint32_t>(8) + Little<std::uint64_t>(2) +
         GgufText("a") + GgufText("bc") + GgufTensor("token_embd.weight", 64, 100);
}

TEST(GgufTest, TheHeaderIsAConfiguration) {
  const std::string file = SmallGguf();
  GgufHeader header;
  const auto state = ParseGguf("x", file, file.size() + 100, &header);
  ASSERT_TRUE(state.has_value());
  ASSERT_EQ(*state, GgufState::kDone);
  EXPECT_EQ(header.tensors[0].dtype, "Q4_K");
  EXPECT_EQ(header.tensors[0].shape, (std::vector<std::int64_t>{100, 64}));
  const std::string config = ConfigOfGguf(header);
  EXPECT_NE(config.find("\"vocab_size\": 100"), std::string::npos) << config;
  EXPECT_NE(config.find("\"tie_word_embeddings\": true"), std::string::npos) << config;
  EXPECT_NE(config.find("\"num_key_value_heads\": 2"), std::string::npos) << config;
}

TEST(GgufTest, EveryCutAsksForMoreOrIsAnError) {
  const std::string file = SmallGguf();
  for (std::size_t length = 0; length < file.size(); ++length) {
    GgufHeader header;
    const auto more = ParseGguf("x", file.substr(0, length), file.size(), &header);
    ASSERT_TRUE(more.has_value()) << length;
    EXPECT_EQ(*more, GgufState::kNeedsMore) << length;
    EXPECT_FALSE(ParseGguf("x", file.substr(0, length), length, &header).has_value()) << length;
  }
}

TEST(GgufTest, LiesAreFound) {
  GgufHeader header;
  const auto refuses = [&](const std::string& file) {
    return !ParseGguf("x", file, file.size(), &header).has_value();
  };
  EXPECT_TRUE(refuses("GGML" + std::string(40, '\0')));
  EXPECT_TRUE(refuses("GGUF" + Little<std::uint32_t>(9) + std::string(40, '\0')));
  EXPECT_TRUE(refuses("GGUF" + Little<std::uint32_t>(3) + Little<std::uint64_t>(1ULL << 60) +
                      Little<std::uint64_t>(1)));
  EXPECT_TRUE(refuses("GGUF" + Little<std::uint32_t>(3) + Little<std::uint64_t>(0) +
                      Little<std::uint64_t>(1) + Little<std::uint64_t>(1ULL << 60) + "key"));
}

class FolderTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() /
              fmt::format("trainfit_{}_{}", getpid(),
                          testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& text) {
    const fs::path path = folder_ / name;
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }
  static std::string ErrorOf(const std::string& path) {
    const auto model = ReadCheckpoint(path, "x", nullptr);
    return model.has_value() ? "no error" : model.error().front().message;
  }

  fs::path folder_;
};

TEST_F(FolderTest, AnIndexNamesFilesOfItsFolder) {
  Write("a.safetensors",
        Safetensors(R"({"w": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}})", 4));
  const auto index = [&](const std::string& map) {
    return ErrorOf(Write("model.safetensors.index.json", "{\"weight_map\": {" + map + "}}"));
  };
  EXPECT_EQ(index(R"("w": "a.safetensors")"), "no error");
  EXPECT_NE(index(R"("w": "../a.safetensors")").find("must be a name of the same folder"),
            std::string::npos);
  EXPECT_NE(index(R"("w": "b.safetensors")").find("which is not beside it"), std::string::npos);
  EXPECT_NE(index(R"("v": "a.safetensors")").find("1 of the 1 tensors"), std::string::npos);
  EXPECT_NE(index(R"("w": 3)").find("must be a name of the same folder"), std::string::npos);
  EXPECT_EQ(CheckpointInFolder(folder_.string()),
            (folder_ / "model.safetensors.index.json").string());
}

TEST_F(FolderTest, PickledFilesNeedAConfiguration) {
  const std::string index =
      Write("pytorch_model.bin.index.json", R"({"weight_map": {"w": "pytorch_model-1.bin"}})");
  EXPECT_NE(ErrorOf(index).find("names alone"), std::string::npos);
  Write("config.json", R"({"model_type": "llama", "vocab_size": 100, "hidden_size": 64,
      "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4})");
  EXPECT_EQ(ErrorOf(index), "no error");
}

TEST_F(FolderTest, TensorsAndConfigurationAreCompared) {
  Write("config.json", R"({"model_type": "llama", "vocab_size": 100, "hidden_size": 64,
      "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4})");
  const std::string path =
      Write("model.safetensors",
            Safetensors(R"({"w": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}})", 4));
  Diagnostics warnings;
  const auto model = ReadCheckpoint(path, "x", &warnings);
  ASSERT_TRUE(model.has_value());
  ASSERT_FALSE(warnings.empty());
  EXPECT_NE(warnings.back().message.find("its tensors have 4 numbers"), std::string::npos);
}

}  // namespace
}  // namespace trainfit::readers
