// An out-of-memory message, explained.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/check.h"
#include "report/options.h"
#include "verdict/allocation_search.h"

namespace trainfit::report {

struct OomAmount {
  std::string what;  // "allocated by PyTorch"
  Bytes bytes;
};

// A way out: what to change, and why it helps.
struct WayOut {
  std::string change;
  std::string why;
  bool is_evaluated = false;  // judged again with the user's own files
};

struct Oom {
  std::string kind;      // "gpu", "host_killed", …
  std::string headline;  // one sentence
  std::string moment;    // "optimizer step"; empty: unknown
  std::string evidence;  // the traceback's line, or why the moment is inferred
  std::optional<Bytes> requested;
  std::string requested_text;                   // as printed
  std::vector<OomAmount> amounts;               // what the card's memory was, largest first
  std::string fragmentation;                    // "", or a sentence
  std::vector<verdict::FoundAllocation> found;  // most likely first
  std::string search;                           // where was looked, or why not further
  std::vector<WayOut> ways;                     // best first
  std::vector<std::string> notes;
};

std::string OomText(const Oom& oom, const TextOptions& options);
// Schema "trainfit.oom/1".
std::string OomJson(const Oom& oom);

}  // namespace trainfit::report
