#include "report/survey.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "report/sample_values_for_test.h"

namespace trainfit::report {
namespace {

// Every line of a text that is too wide for the screen.
std::string TooWide(const std::string& text, int width) {
  std::string wide;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    if (DisplayWidth(line) > width) wide += line + "\n";
    at = end + 1;
  }
  return wide;
}

constexpr Date kToday{2026, 11, 30};

TEST(SurveyText, MethodsMemoryHardwareAndPriceOnOneScreen) {
  EXPECT_EQ(SurveyText(SampleSurvey(), {.today = kToday}),
            R"(example/tiny-7b, 2,010,120,192 parameters
Memory on one card at micro-batch 1 × 2,048 tokens, and the least hardware that
holds it (several cards: fully sharded).

method              GiB (90 %)  trained  smallest      $/h   cheapest       $/h
full, AdamW      112 (108–118)    7.24B  h200-sxm     3.99   4xrtx-a6000~  1.96*
full, AdamW       70.5 (66–74)    7.24B  a100-sxm-80  1.89   none known
8-bit
LoRA r16          16.8 (15–18)    41.9M  rtx-4090     0.69   rtx-3090      0.22
QLoRA r16       6.62 (6.2–7.5)    41.9M  none known          none known

  ~         tight: the range reaches above what the card has
  prices    RunPod secure, 2026-11-09: h200-sxm, a100-sxm-80; RunPod community,
            2026-08-19*: rtx-a6000; RunPod community, 2026-11-09: rtx-4090,
            rtx-3090
  *         price older than 60 days, or undated
  stack     transformers 5.3.0, peft 0.18.1, torch 2.12.0

Assumed, as nothing else was said (sources: --explain)
  activation checkpointing: on; attention: sdpa; CUDA context: 0.45 GiB

Next, in depth (other sizes: --micro-batch, --seq-len)
  trainfit fit example/tiny-7b --method lora --on rtx-3090
  trainfit fit example/tiny-7b --method full --on h200-sxm
)");
}

TEST(SurveyText, ANarrowScreenKeepsMethodMemoryAndHardware) {
  EXPECT_EQ(SurveyText(SampleSurvey(), {.width = 60, .unicode = false, .today = kToday}),
            R"(example/tiny-7b, 2,010,120,192 parameters
Memory on one card at micro-batch 1 x 2,048 tokens, and the
least hardware that holds it (several cards: fully sharded).

method          GiB  smallest      $/h   cheapest       $/h
full, AdamW  112.00  h200-sxm     3.99   4xrtx-a6000~  1.96*
full, AdamW   70.50  a100-sxm-80  1.89   none known
8-bit
LoRA r16      16.75  rtx-4090     0.69   rtx-3090      0.22
QLoRA r16      6.62  none known          none known

  ~         tight: the range reaches above what the card has
  prices    RunPod secure, 2026-11-09: h200-sxm,
            a100-sxm-80; RunPod community, 2026-08-19*:
            rtx-a6000; RunPod community, 2026-11-09:
            rtx-4090, rtx-3090
  *         price older than 60 days, or undated
  stack     transformers 5.3.0, peft 0.18.1, torch 2.12.0

Assumed, as nothing else was said (sources: --explain)
  activation checkpointing: on; attention: sdpa; CUDA
  context: 0.45 GiB

Next, in depth (other sizes: --micro-batch, --seq-len)
  trainfit fit example/tiny-7b --method lora --on rtx-3090
  trainfit fit example/tiny-7b --method full --on h200-sxm
)");
}

TEST(SurveyText, SuggestedCommandsRepeatWhatTheUserTyped) {
  verdict::Survey survey = SampleSurvey();
  survey.rows[2].cheapest->gpus = 16;
  const std::string text =
      SurveyText(survey, {.typed_options = "--seq-len 4k", .program = "./trainfit"});
  EXPECT_NE(text.find("  ./trainfit fit example/tiny-7b --method lora --on 2x8xrtx-3090 "
                      "--sharding fsdp2 --seq-len 4k\n"),
            std::string::npos);
}

TEST(SurveyText, WithoutADateNoPriceIsStale) {
  const std::string text = SurveyText(SampleSurvey(), {});
  EXPECT_EQ(text.find('*'), std::string::npos);
}

TEST(SurveyText, KeepsToTheWidth) {
  for (const int width : {60, 72, 80, 100}) {
    for (const bool explain : {false, true}) {
      const TextOptions options{.width = width, .explain = explain, .today = kToday};
      EXPECT_EQ(TooWide(SurveyText(SampleSurvey(), options), width), "");
    }
  }
}

TEST(SurveyText, AnEmptySurveyIsSaid) {
  EXPECT_EQ(SurveyText({}, {}), "No method of training could be evaluated.\n");
}

TEST(SurveyJson, HasTheFieldsOfItsSchema) {
  verdict::Survey survey = SampleSurvey();
  survey.rows.erase(survey.rows.begin() + 1, survey.rows.end());
  EXPECT_EQ(SurveyJson(survey), R"({
  "schema": "trainfit.survey/1",
  "stack": {
    "framework": "huggingface",
    "packages": {
      "transformers": "5.3.0",
      "peft": "0.18.1",
      "torch": "2.12.0"
    }
  },
  "model": {
    "id": "example/tiny-7b",
    "params": 2010120192,
    "active_params": 2010120192
  },
  "rows": [
    {
      "name": "full, AdamW",
      "recipe": {
        "method": "full",
        "micro_batch": 1,
        "sequence_length": 2048,
        "gradient_accumulation": 1,
        "precision": "bf16",
        "optimizer": "adamw",
        "optimizer_loop": "fused",
        "checkpointing": "full",
        "attention": "sdpa",
        "loss": "plain",
        "sharding": "none",
        "data_parallel": 1,
        "weight_dtype": "bf16"
      },
      "trainable_params": 7241732096,
      "point_bytes": 120259084288,
      "low_bytes": 115964116992,
      "high_bytes": 126701535232,
      "parts": [
        {
          "name": "weights",
          "bytes": 28991029248,
          "basis": "exact",
          "source": "shapes of the checkpoint",
          "formula": "4 B × 7,241,732,096 parameters"
        }
      ],
      "smallest": {
        "gpu": "h200-sxm",
        "gpus": 1,
        "verdict": "fits",
        "per_gpu": {
          "point_bytes": 2147483648,
          "low_bytes": 1073741824,
          "high_bytes": 3221225472
        },
        "usable_bytes_per_gpu": 0,
        "usd_per_hour": 3.99,
        "offer": {
          "id": "runpod-secure-h200-sxm",
          "provider": "RunPod",
          "tier": "secure",
          "price_date": "2026-11-09",
          "source": ""
        }
      },
      "cheapest": {
        "gpu": "rtx-a6000",
        "gpus": 4,
        "verdict": "tight",
        "per_gpu": {
          "point_bytes": 2147483648,
          "low_bytes": 1073741824,
          "high_bytes": 3221225472
        },
        "usable_bytes_per_gpu": 0,
        "usd_per_hour": 1.96,
        "offer": {
          "id": "runpod-community-rtx-a6000",
          "provider": "RunPod",
          "tier": "community",
          "price_date": "2026-08-19",
          "source": ""
        }
      }
    }
  ],
  "assumptions": [
    {
      "what": "activation checkpointing",
      "value": "on",
      "basis": "source",
      "source": "transformers TrainingArguments"
    },
    {
      "what": "attention",
      "value": "sdpa",
      "basis": "source",
      "source": "transformers modeling_utils.py"
    },
    {
      "what": "CUDA context",
      "value": "0.45 GiB",
      "basis": "measured",
      "source": "driver 550, CUDA 12.4"
    }
  ],
  "warnings": []
}
)");
}

}  // namespace
}  // namespace trainfit::report
