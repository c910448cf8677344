#include <gtest/gtest.h>

#include "base/text.h"
#include "report/fit.h"
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

TEST(FitText, AFitOnOneScreen) {
  EXPECT_EQ(FitText(SampleFits(), {}),
            R"(Fits: needs 6.63 GiB, the card has 23.50 GiB; 16.00 GiB free at the upper end

  model     example/tiny-7b, 2,010,120,192 parameters
  method    QLoRA, rank 16 on all-linear; 9,437,184 trainable (0.5 %)
  batch     micro-batch 1 × 2,048 tokens
  with      bf16, adamw (fused), activation checkpointing, sdpa attention, plain
            loss
  on        1 × GeForce RTX 4090, 23.50 GiB (25.23 GB) usable, sold as 24 GB
  stack     transformers 5.3.0, peft 0.18.1, torch 2.12.0

  █████████████████████▍░░····················································
                                                                   23.50 GiB ▲

  part                          GiB   share
  weights, 4-bit               3.75    57 %  ████████████████████████
  logits and loss              2.25    34 %  ██████████████▍
  gradients                    0.12     2 %  ▊
  CUDA context and libraries   0.50     8 %  ███▎
  code tables                 <0.01  <0.1 %  ▏
  total                        6.63   100 %  = 6.63 GiB (7.11 GB)

  reading           GiB  90 % range
  torch allocated  6.00   5.90–6.20
  torch reserved   6.12   6.00–6.75
  nvidia-smi       6.63   6.25–7.50
  peak at   loss backward: gradient of the logits

  other phases and places   GiB  90 % range  there is
  load, GPU                4.50   4.00–5.00     23.50  fits
  load, host RAM (node)    5.00   4.00–9.00         ?  unknown

  limits    micro-batch up to 14; length up to 24,576 tokens; one rtx-4090 is
            enough (each alone)

Assumed, as nothing else was said (sources: --explain)
  activation checkpointing: on; attention: sdpa; CUDA context: 0.45 GiB
)");
}

TEST(FitText, WhatDoesNotFitComesWithItsRemedies) {
  EXPECT_EQ(FitText(SampleDoesNotFit(), {}),
            R"(Does not fit: needs 110.25 GiB, each card has 23.50 GiB; 86.75 GiB short
Largest part: optimizer states, 54.00 GiB. Not even micro-batch 1 fits.

  model     example/tiny-7b, 2,010,120,192 parameters
  method    full fine-tuning; 2,010,120,192 trainable
  batch     micro-batch 1 × 2,048 tokens, 4 accumulated
  with      bf16, adamw (fused), activation checkpointing, sdpa attention, plain
            loss, ddp over 8
  on        8 × GeForce RTX 4090, 23.50 GiB (25.23 GB) usable each, sold as 24
            GB; $5.52/h (runpod-community-rtx-4090, 2026-11-09)
  stack     transformers 5.3.0, peft 0.18.1, torch 2.12.0

  warning   max_position_embeddings of the model is 4,096; the length is above
            it

  ███████████████▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒░░░
       23.50 GiB ▲

  part                 GiB  share
  optimizer states   54.00   49 %  ████████████████████████
  weights            27.00   24 %  ████████████
  gradients          27.00   24 %  ████████████
  activations         2.25    2 %  █
  total             110.25  100 %  = 110.25 GiB (118.38 GB)

  reading     GiB     90 % range
  GPU      110.25  108.00–116.00
  peak at   optimizer step: foreach temporaries

  limits    at least 6 × rtx-4090, fully sharded

One change at a time, each evaluated anew
           GiB   saves  change            at the cost of
  fits    6.63  103.62  --method qlora    trains adapters on 4-bit weights only
  tight  22.90   87.35  --sharding fsdp2  gathers and reduces 1.5 times the
                                          bytes of ddp
  not enough: --micro-batch 1 is already the least; --seq-len 512 (109.00 GiB)

Assumed, as nothing else was said (sources: --explain)
  activation checkpointing: on; attention: sdpa; CUDA context: 0.45 GiB
)");
}

TEST(FitText, ExplainGivesFormulasAndSources) {
  TextOptions options;
  options.explain = true;
  options.width = 60;
  options.unicode = false;
  EXPECT_EQ(FitText(SampleFits(), options),
            R"(Fits: needs 6.63 GiB, the card has 23.50 GiB; 16.00 GiB free
at the upper end

  model     example/tiny-7b, 2,010,120,192 parameters
  method    QLoRA, rank 16 on all-linear; 9,437,184
            trainable (0.5 %)
  batch     micro-batch 1 x 2,048 tokens
  with      bf16, adamw (fused), activation checkpointing,
            sdpa attention, plain loss
  on        1 x GeForce RTX 4090, 23.50 GiB (25.23 GB)
            usable, sold as 24 GB
  stack     transformers 5.3.0, peft 0.18.1, torch 2.12.0

  ################++......................................
                                               23.50 GiB ^

  part                 GiB   share
  weights, 4-bit      3.75    57 %  ########################
      0.5 B x 6,979,321,856 parameters + scales
      exact
  logits and loss     2.25    34 %  ##############-
      14 B x 2,048 tokens x 32,000 words
      source: transformers loss_utils.py, read at v5.3.0
  gradients           0.12     2 %  #
      4 B x 41,943,040 adapter parameters
      exact
  CUDA context and    0.50     8 %  ###-
  libraries
      measured: driver 550, CUDA 12.4
  code tables        <0.01  <0.1 %  .
      256 x 4 B a matrix
      exact
  total               6.63   100 %  = 6.63 GiB (7.11 GB)

  reading           GiB  90 % range
  torch allocated  6.00   5.90-6.20
  torch reserved   6.12   6.00-6.75
  nvidia-smi       6.63   6.25-7.50
  peak at   loss backward: gradient of the logits

  other phases and        GiB  90 % range  there is
  places
  load, GPU              4.50   4.00-5.00     23.50  fits
  load, host RAM (node)  5.00   4.00-9.00         ?  unknown

  limits    micro-batch up to 14; length up to 24,576
            tokens; one rtx-4090 is enough (each alone)

Assumed, as nothing else was said
  what                      value
  activation checkpointing  on
      source: transformers TrainingArguments
  attention                 sdpa
      source: transformers modeling_utils.py
  CUDA context              0.45 GiB
      measured: driver 550, CUDA 12.4
)");
}

TEST(FitText, AnotherPlaceMayDecide) {
  verdict::Answer answer = SampleFits();
  verdict::PlaceAnswer& host = answer.phases[0].ranks[0].places[1];
  host.capacity = kGiB * 4;
  host.bytes.low = kGiB * 5;
  host.fit = answer.fit = verdict::Fit::kDoesNotFit;
  answer.phases[0].ranks.push_back(answer.phases[0].ranks[0]);
  answer.phases[0].ranks[0].role = "rank 0";
  const std::string text = FitText(answer, {});
  EXPECT_EQ(text.substr(0, text.find('\n')),
            "Does not fit on rank 0 in phase load: needs 5.00 GiB, the host RAM is 4.00 GiB;");
}

TEST(FitText, ATightFitGivesItsRange) {
  verdict::Answer answer = SampleFits();
  verdict::PlaceAnswer& gpu = answer.phases[1].ranks[0].places[0];
  gpu.capacity = kGiB * 7;
  gpu.fit = answer.fit = verdict::Fit::kTight;
  const std::string text = FitText(answer, {});
  EXPECT_EQ(text.substr(0, text.find('\n')),
            "Tight: needs 6.63 GiB, the card has 7.00 GiB; the range is 6.25–7.50");
}

TEST(FitText, WhatIsNotKnownIsSaid) {
  verdict::Answer answer = SampleFits();
  answer.fit = verdict::Fit::kUnknown;
  std::string text = FitText(answer, {});
  EXPECT_EQ(text.substr(0, text.find('\n')),
            "Unknown in phase load: needs 5.00 GiB; how much the host RAM is is not known");
  answer.phases.clear();
  text = FitText(answer, {});
  EXPECT_EQ(text.substr(0, text.find('\n')), "Unknown: no phase could be evaluated.");
}

TEST(FitText, KeepsToTheWidth) {
  for (const int width : {60, 61, 72, 80, 100}) {
    for (const bool explain : {false, true}) {
      const TextOptions options{.width = width, .explain = explain};
      EXPECT_EQ(TooWide(FitText(SampleFits(), options), width), "");
      EXPECT_EQ(TooWide(FitText(SampleDoesNotFit(), options), width), "");
    }
  }
}

TEST(FitText, ColourChangesNoLetter) {
  const TextOptions options{.color = true};
  std::string text = FitText(SampleDoesNotFit(), options);
  std::size_t begin = 0;
  while ((begin = text.find('\x1b')) != std::string::npos) {
    text.erase(begin, text.find('m', begin) - begin + 1);
  }
  EXPECT_EQ(text, FitText(SampleDoesNotFit(), {}));
}

TEST(FitJson, HasTheFieldsOfItsSchema) {
  EXPECT_EQ(FitJson(SampleFits()), R"({
  "schema": "trainfit.fit/1",
  "stack": {
    "framework": "huggingface",
    "packages": {
      "transformers": "5.3.0",
      "peft": "0.18.1",
      "torch": "2.12.0"
    }
  },
  "verdict": "fits",
  "model": {
    "id": "example/tiny-7b",
    "params": 2010120192,
    "active_params": 2010120192,
    "trainable_params": 9437184
  },
  "recipe": {
    "method": "qlora",
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
    "weight_dtype": "bf16",
    "adapter_dtype": "fp32",
    "lora_rank": 16,
    "lora_targets": [
      "all-linear"
    ]
  },
  "machine": {
    "on": "rtx-4090",
    "gpu": "rtx-4090",
    "name": "GeForce RTX 4090",
    "nodes": 1,
    "gpus_per_node": 1,
    "usable_bytes_per_gpu": 25232932864,
    "usd_per_hour": null,
    "assumptions": []
  },
  "phases": [
    {
      "phase": "load",
      "ranks": [
        {
          "role": "every rank",
          "count": 1,
          "places": [
            {
              "place": "gpu",
              "scope": "rank",
              "verdict": "fits",
              "point_bytes": 4831838208,
              "low_bytes": 4294967296,
              "high_bytes": 5368709120,
              "capacity_bytes": 25232932864,
              "peak_moment": "",
              "parts": [],
              "readings": null
            },
            {
              "place": "host",
              "scope": "node",
              "verdict": "unknown",
              "point_bytes": 5368709120,
              "low_bytes": 4294967296,
              "high_bytes": 9663676416,
              "capacity_bytes": null,
              "peak_moment": "",
              "parts": [],
              "readings": null
            }
          ]
        }
      ]
    },
    {
      "phase": "steady_step",
      "ranks": [
        {
          "role": "every rank",
          "count": 1,
          "places": [
            {
              "place": "gpu",
              "scope": "rank",
              "verdict": "fits",
              "point_bytes": 7114076454,
              "low_bytes": 6710886400,
              "high_bytes": 8053063680,
              "capacity_bytes": 25232932864,
              "peak_moment": "loss backward: gradient of the logits",
              "parts": [
                {
                  "name": "weights, 4-bit",
                  "bytes": 4026531840,
                  "basis": "exact",
                  "source": "",
                  "formula": "0.5 B × 6,979,321,856 parameters + scales"
                },
                {
                  "name": "logits and loss",
                  "bytes": 2415919104,
                  "basis": "source",
                  "source": "transformers loss_utils.py, read at v5.3.0",
                  "formula": "14 B × 2,048 tokens × 32,000 words"
                },
                {
                  "name": "gradients",
                  "bytes": 134217728,
                  "basis": "exact",
                  "source": "",
                  "formula": "4 B × 41,943,040 adapter parameters"
                },
                {
                  "name": "CUDA context and libraries",
                  "bytes": 536870912,
                  "basis": "measured",
                  "source": "driver 550, CUDA 12.4",
                  "formula": ""
                },
                {
                  "name": "code tables",
                  "bytes": 536870,
                  "basis": "exact",
                  "source": "",
                  "formula": "256 × 4 B a matrix"
                }
              ],
              "readings": {
                "allocated": {
                  "point_bytes": 6442450944,
                  "low_bytes": 6335076761,
                  "high_bytes": 6657199308
                },
                "reserved": {
                  "point_bytes": 6576668672,
                  "low_bytes": 6442450944,
                  "high_bytes": 7247757312
                },
                "nvidia_smi": {
                  "point_bytes": 7114076454,
                  "low_bytes": 6710886400,
                  "high_bytes": 8053063680
                }
              }
            }
          ]
        }
      ]
    }
  ],
  "time": null,
  "limits": {
    "max_micro_batch": 14,
    "max_seq_len": 24576,
    "min_gpus": 1
  },
  "remedies": [],
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
