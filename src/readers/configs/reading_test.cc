#include "readers/configs/reading.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "readers/configs/known_keys.h"
#include "readers/configs/own_words.h"

namespace trainfit::readers {
namespace {

ConfigReading Read(const std::vector<NamedText>& texts) {
  Expected<ConfigReading> reading = ReadConfigTexts(texts);
  EXPECT_TRUE(reading.has_value()) << (reading.has_value() ? "" : reading.error()[0].message);
  return reading.has_value() ? std::move(*reading) : ConfigReading{};
}

std::string FirstError(const std::string& text) {
  const Expected<ConfigReading> reading = ReadConfigTexts({{"x", text}});
  return reading.has_value() ? "" : reading.error()[0].code + ": " + reading.error()[0].message;
}

KeyFate FateOf(const ConfigReading& reading, std::string_view key) {
  for (const KeyUse& use : reading.keys) {
    if (use.key == key) return use.fate;
  }
  ADD_FAILURE() << key << " was not read";
  return KeyFate::kUnknown;
}

constexpr char kTrl[] =
    "model_name_or_path: a/b\nuse_peft: true\nmax_length: 512\ndataset_name: x\n";

TEST(Configs, TrlLoadsInFp32AndCheckpointsUnlessToldOtherwise) {
  const ConfigReading reading = Read({{"sft.yaml", kTrl}});
  EXPECT_EQ(reading.model, "a/b");
  EXPECT_EQ(reading.recipe.framework, "trl");
  EXPECT_EQ(reading.recipe.method, spec::Method::kLora);
  EXPECT_EQ(reading.recipe.load_dtype, spec::Dtype::kFp32);
  EXPECT_EQ(reading.recipe.precision, spec::Precision::kBf16Mixed);
  EXPECT_EQ(reading.recipe.checkpointing, spec::Checkpointing::kFull);
  EXPECT_EQ(reading.recipe.micro_batch, 8);
  EXPECT_EQ(reading.recipe.lora->rank, 16);
  EXPECT_TRUE(reading.has_default_targets);
}

TEST(Configs, LlamaFactoryCastsTrainedWeightsToFp32) {
  const ConfigReading reading = Read({{"x.yaml",
                                       "model_name_or_path: a\nfinetuning_type: full\n"
                                       "cutoff_len: 100\nbf16: true\n"}});
  EXPECT_EQ(reading.recipe.load_dtype, spec::Dtype::kFp32);
  EXPECT_EQ(reading.recipe.checkpointing, spec::Checkpointing::kFull);
  const ConfigReading pure = Read({{"x.yaml",
                                    "model_name_or_path: a\nfinetuning_type: full\n"
                                    "cutoff_len: 100\npure_bf16: true\n"}});
  EXPECT_EQ(pure.recipe.precision, spec::Precision::kBf16Pure);
}

TEST(Configs, BitsOfTheBase) {
  const ConfigReading reading = Read({{"x.yaml",
                                       "model_name_or_path: a\nfinetuning_type: lora\n"
                                       "cutoff_len: 100\nquantization_bit: 4\nbf16: true\n"}});
  EXPECT_EQ(reading.recipe.method, spec::Method::kQlora);
  EXPECT_EQ(reading.recipe.double_quantization, true);
  EXPECT_EQ(reading.recipe.lora->rank, 8);
}

TEST(Configs, SwiftsBuiltInDeepSpeed) {
  const ConfigReading reading =
      Read({{"run.sh",
             "NPROC_PER_NODE=8 swift sft --model a --train_type full --deepspeed "
             "zero3_offload --max_length 512"}});
  EXPECT_EQ(reading.recipe.method, spec::Method::kFull);
  EXPECT_EQ(reading.recipe.sharding, spec::Sharding::kZero3);
  EXPECT_EQ(reading.recipe.zero.offload_param, spec::Offload::kCpu);
  EXPECT_TRUE(reading.load_as_stored);
}

constexpr char kPython[] =
    "max_seq_length = 2048  # as in the lesson\n"
    "model = AutoModelForCausalLM.from_pretrained(\"a/b\", torch_dtype=torch.bfloat16,\n"
    "    quantization_config=BitsAndBytesConfig(load_in_4bit=True))\n"
    "peft_config = LoraConfig(r=32, target_modules=[\"q_proj\", \"v_proj\"])\n"
    "trainer = SFTTrainer(model, peft_config=peft_config, args=SFTConfig(\n"
    "    per_device_train_batch_size=2, max_length=max_seq_length, output_dir=f\"{x}\"))\n"
    "trainer.train()\n";

TEST(Configs, PythonKeywordArguments) {
  const ConfigReading reading = Read({{"train.py", kPython}});
  EXPECT_EQ(reading.model, "a/b");
  EXPECT_EQ(reading.recipe.method, spec::Method::kQlora);
  EXPECT_EQ(reading.recipe.lora->rank, 32);
  EXPECT_EQ(reading.recipe.lora->targets.size(), 2U);
  EXPECT_EQ(reading.recipe.micro_batch, 2);
  EXPECT_EQ(reading.recipe.sequence_length, 2048);
  EXPECT_EQ(reading.recipe.load_dtype, spec::Dtype::kBf16);
}

TEST(Configs, PythonCodeIsNotRun) {
  EXPECT_EQ(FirstError("SFTConfig(max_length=512, bf16=is_bf16_supported())").substr(0, 11),
            "python-code");
  EXPECT_NE(FirstError("FastLanguageModel.from_pretrained(\"a\")").find("unsloth"),
            std::string::npos);
  EXPECT_EQ(FirstError("SFTConfig(max_length=\"512)").substr(0, 10), "open-quote");
}

TEST(Configs, MegatronArguments) {
  const ConfigReading reading =
      Read({{"run.sh",
             "ARGS=(--micro-batch-size 2 --seq-length 4096\n --bf16 # types\n"
             " --tensor-model-parallel-size 4 --pipeline-model-parallel-size 2)\n"
             "MORE=(\n  --sequence-parallel\n  --use-distributed-optimizer\n)\n"
             "MORE+=(--recompute-granularity selective)\n"
             "torchrun --nproc_per_node 8 pretrain_gpt.py ${ARGS[@]} \"${MORE[@]}\""}});
  ASSERT_TRUE(reading.recipe.parallelism.has_value());
  EXPECT_EQ(reading.recipe.parallelism->tensor, 4);
  EXPECT_EQ(reading.recipe.parallelism->pipeline, 2);
  EXPECT_EQ(reading.recipe.parallelism->sequence_parallel, true);
  EXPECT_EQ(reading.recipe.sharding, spec::Sharding::kZero1);
  EXPECT_EQ(reading.recipe.checkpointing, spec::Checkpointing::kSelective);
  EXPECT_EQ(reading.recipe.sequence_length, 4096);
  EXPECT_EQ(reading.recipe.micro_batch, 2);
}

TEST(Configs, MegatronsFp8) {
  const auto read = [](const std::string& flags) {
    return Read({{"run.sh",
                  "torchrun --nproc_per_node 8 pretrain_gpt.py --micro-batch-size 1 "
                  "--seq-length 4096 --bf16 " +
                      flags}})
        .recipe.fp8;
  };
  EXPECT_EQ(read("--fp8-recipe mxfp8"), std::nullopt);  // not asked for
  EXPECT_EQ(read("--fp8-format hybrid"), spec::Fp8{});
  EXPECT_EQ(read("--fp8-format e4m3 --fp8-recipe mxfp8 --fp8-param-gather"),
            (spec::Fp8{spec::Fp8Scaling::kMx, true}));
}

TEST(Configs, AutoIsWhatThePartnerSays) {
  const std::string deepspeed =
      "{\"zero_optimization\": {\"stage\": 2}, \"train_batch_size\": \"auto\",\n"
      " \"train_micro_batch_size_per_gpu\": \"auto\"}";
  EXPECT_EQ(FirstError(deepspeed).substr(0, 9), "open-auto");
  const ConfigReading reading = Read({{"ds.json", deepspeed}, {"sft.yaml", kTrl}});
  EXPECT_EQ(reading.recipe.sharding, spec::Sharding::kZero2);
  EXPECT_EQ(reading.recipe.micro_batch, 8);
}

TEST(Configs, ALaterFileOverridesAndTheConflictIsNamed) {
  const ConfigReading reading =
      Read({{"sft.yaml", std::string(kTrl) + "per_device_train_batch_size: 4\n"},
            {"more.yaml", "per_device_train_batch_size: 2\nmax_length: 512\noutput_dir: o\n"}});
  EXPECT_EQ(reading.recipe.micro_batch, 2);
  ASSERT_EQ(reading.warnings.size(), 1U);
  EXPECT_EQ(reading.warnings[0].code, "conflict");
}

TEST(Configs, UnknownKeysAreNamedWithTheNearestOne) {
  const ConfigReading reading =
      Read({{"sft.yaml", std::string(kTrl) + "gradient_checkpointin: false\n"}});
  const auto use = std::find_if(reading.keys.begin(), reading.keys.end(),
                                [](const KeyUse& key) { return key.fate == KeyFate::kUnknown; });
  ASSERT_NE(use, reading.keys.end());
  EXPECT_EQ(use->note, "gradient_checkpointing");
  EXPECT_EQ(use->span.line, 5);
}

TEST(Configs, DefaultsAreToldFromChoices) {
  const ConfigReading reading =
      Read({{"sft.yaml", std::string(kTrl) + "weight_decay: 0.1\ntorch_compile: false\n"
                                             "eval_strategy: steps\n"}});
  EXPECT_EQ(FateOf(reading, "weight_decay"), KeyFate::kNoEffect);
  EXPECT_EQ(FateOf(reading, "torch_compile"), KeyFate::kDefault);
  EXPECT_EQ(FateOf(reading, "eval_strategy"), KeyFate::kNotCounted);
}

TEST(Configs, WhatIsNotModelledIsRefused) {
  EXPECT_NE(FirstError(std::string(kTrl) + "torch_compile: true\n").find("torch.compile"),
            std::string::npos);
  EXPECT_NE(FirstError(std::string(kTrl) + "optim: galore_adamw\n").find("galore_adamw"),
            std::string::npos);
}

TEST(Configs, AlpacasScriptHasALengthOfItsOwn) {
  const ConfigReading reading =
      Read({{"run.sh", "torchrun train.py --model_name_or_path a --data_path d.json --bf16 True"}});
  EXPECT_EQ(reading.recipe.sequence_length, 512);
}

TEST(Configs, ToolsThatAreNotReadYetAreNamed) {
  EXPECT_NE(FirstError("tokenizer:\n  _component_: torchtune.models.llama3.x\n").find("torchtune"),
            std::string::npos);
  EXPECT_NE(FirstError("[job]\ndump_folder = \"x\"\n").find("torchtitan"), std::string::npos);
  EXPECT_NE(FirstError("max_seq_len: 1\ndevice_train_microbatch_size: 1\n").find("llm-foundry"),
            std::string::npos);
}

TEST(Configs, LaunchLines) {
  const ConfigReading reading =
      Read({{"run.sh",
             "N=4\ntorchrun --nproc_per_node $N --nnodes=2 train_mem.py "
             "--model_name_or_path a --data_path d --bf16 True \\\n  --fsdp "
             "\"full_shard auto_wrap\" --model_max_length 512"}});
  EXPECT_EQ(reading.processes, 8);
  EXPECT_EQ(reading.recipe.sharding, spec::Sharding::kFsdp2);
  EXPECT_EQ(reading.recipe.sequence_length, 512);
  EXPECT_EQ(reading.recipe.precision, spec::Precision::kBf16Mixed);
}

TEST(Configs, ChangesKeepWhatTheyDoNotChange) {
  const ConfigReading reading = Read(
      {{"sft.yaml", std::string(kTrl) + "per_device_train_batch_size: 4  # as the card allows\n"}});
  const auto edits = InOwnWords(reading, "--micro-batch 1 --gradient-accumulation 4");
  const Expected<std::string> text = ApplyEdits(reading, 0, edits);
  ASSERT_TRUE(text.has_value());
  EXPECT_EQ(*text, std::string(kTrl) +
                       "per_device_train_batch_size: 1  # as the card allows\n"
                       "gradient_accumulation_steps: 4\n");
}

// Every row of a dialect names a key that the tool has; older and other scripts' names apart.
TEST(Configs, EveryListIsThere) {
  for (const Dialect* dialect : Dialects()) {
    for (const std::string_view list : dialect->known) {
      EXPECT_FALSE(DialectData(list).empty()) << list;
      EXPECT_FALSE(KnownKeys({list}).empty()) << list;
    }
  }
}

}  // namespace
}  // namespace trainfit::readers
