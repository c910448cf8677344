// A user's own configuration files, as they were understood, with the answer for them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "report/options.h"
#include "verdict/difference.h"
#include "verdict/verdict.h"

namespace trainfit::report {

// One key of a file and how it was taken.
struct CheckedKey {
  std::string place;  // "sft.yaml:3:1"
  std::string key;
  std::string value;
  std::string fate;  // understood, default, no_effect, not_counted, unknown
  std::string note;  // what it was taken for, what is not counted, or the key that was meant
};

struct CheckedFile {
  std::string path;
  std::string tool;  // "TRL 1.16.0"
};

struct CheckedDefault {
  std::string what;
  std::string value;
  std::string source;
};

// A change that was evaluated, written as the file has it.
struct OwnChange {
  std::string file;
  std::string text;  // "per_device_train_batch_size: 1"
};
struct OwnRemedy {
  verdict::Remedy remedy;
  std::vector<OwnChange> changes;  // empty: the tool has no words for it
};

struct Check {
  std::vector<CheckedFile> files;
  std::vector<CheckedKey> keys;
  std::vector<CheckedDefault> filled_in;
  Diagnostics warnings;  // conflicts between files
  std::vector<OwnRemedy> remedies;
  std::vector<OwnChange> written;                 // by --fix
  std::string written_to;                         // empty: nothing is written
  std::string written_text;                       // the file with the change
  std::string written_fit;                        // "fits: needs 21.12 GiB", judged anew
  std::optional<verdict::Difference> difference;  // of --explain-difference
  verdict::Answer answer;
};

// One screen: the verdict, what was read, every phase, what to change, what was filled in and what
// was not taken into account.
std::string CheckText(const Check& check, const TextOptions& options);

// Schema "trainfit.check/1"; the answer itself is under "fit".
std::string CheckJson(const Check& check);

}  // namespace trainfit::report
