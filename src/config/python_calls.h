// Python source as the calls in it, with keyword arguments that are plain values.
#pragma once

#include <string>
#include <vector>

#include "base/expected.h"
#include "config/json_reader.h"
#include "config/node.h"

namespace trainfit::config {

struct PythonCall {
  std::string callee;  // "SFTConfig", "AutoModelForCausalLM.from_pretrained"
  Node arguments;      // an object: the keyword arguments that are literals or names of literals
  Node first;          // the first positional argument, if it is a string; else null
  // Keyword arguments that are anything else: code, which is not run.
  std::vector<Member> code;
};

// The calls of a text, in order. Literals are strings, numbers, True, False, None, lists, tuples
// and dictionaries of them, `torch.bfloat16` and the like (as strings), and names that were
// assigned a literal before. Nothing is run. Errors: a bracket or string that is not closed, a text
// beyond the limits, bytes that are no UTF-8.
Expected<std::vector<PythonCall>> ParsePythonCalls(std::string name, std::string text,
                                                   const ReadLimits& limits = {});

}  // namespace trainfit::config
