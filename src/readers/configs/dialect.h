// A tool's configuration file as a table: which key says what.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/node.h"
#include "readers/configs/draft.h"
#include "readers/configs/terms.h"

namespace trainfit::readers {

enum class Effect : std::uint8_t {
  kSays,        // states a term
  kNone,        // no effect on memory
  kNotCounted,  // costs memory in a phase or place that is not evaluated
  kRefused,     // changes the memory of a step in a way that is not modelled
  kBlock,       // an object; its keys have rows under "block.key"
  kFree,        // an object or value that is not looked into, without effect on memory
};

struct KeyRow {
  std::string_view key;  // dotted path; a '*' at its end stands for any ending
  Effect effect = Effect::kNone;
  Term term = Term::kNone;
  std::string_view about;  // of a refused or not counted key: what it is
};

// How a change of `fit` is written in this file.
struct FixRow {
  std::string_view flag;   // "--micro-batch", or with its value: "--attention sdpa"
  std::string_view key;    // "per_device_train_batch_size"
  std::string_view value;  // empty: the flag's own
};

struct Dialect {
  std::string_view name;   // "llamafactory"
  std::string_view title;  // "LLaMA-Factory 0.9.5"
  std::string_view
      framework;  // whose facts fill in the rest: "trl", "transformers"; "": no trainer
  std::span<const KeyRow> rows;
  std::span<const KeyRow> more_rows = {};  // after those: of a tool that this one builds on
  // Files of data/dialects that list the keys there are.
  std::vector<std::string_view> known;
  // How sure it is that the tree is of this dialect: 0 not at all.
  int (*score)(const config::Node& root) = nullptr;
  // Turns the tool's words into terms, and fills in its defaults. Null: nothing to do.
  void (*finish)(Draft& draft) = nullptr;
  std::span<const FixRow> fixes = {};

  bool IsTrainer() const { return !framework.empty(); }
};

// Reads every key of `root` by the dialect's table.
void ApplyRows(const Dialect& dialect, const config::Node& root, Draft& draft);

// transformers' TrainingArguments, which most trainers have.
std::span<const KeyRow> TrainingArgumentRows();
// TrainingArguments' defaults; `tool` is who leaves them so.
void FillTrainingArguments(Draft& draft, std::string_view tool);
// `fsdp: full_shard auto_wrap offload` as terms.
void ReadFsdpWords(Draft& draft);

// DeepSpeed's own sizes, of keys that its file leaves out.
void FillZeroDefaults(Draft& draft);

const Dialect& Transformers();
const Dialect& Trl();
const Dialect& LlamaFactory();
const Dialect& Axolotl();
const Dialect& Swift();
const Dialect& Megatron();
const Dialect& Accelerate();
const Dialect& DeepSpeed();

// Of these keys, how many the object has.
int CountKeys(const config::Node& root, std::initializer_list<std::string_view> keys);

// All of them, those that are easiest to tell first.
std::span<const Dialect* const> Dialects();
const Dialect* FindDialect(std::string_view name);

}  // namespace trainfit::readers
