// Training arguments as Python keyword arguments: pasted from a script or a notebook.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/expected.h"
#include "config/node.h"
#include "readers/configs/dialect.h"

namespace trainfit::readers {

// True when the text has a call whose arguments are understood here.
bool LooksLikePython(std::string_view text);

struct PythonArguments {
  const Dialect* dialect = nullptr;
  config::Node root;
};

// The keyword arguments of SFTConfig, TrainingArguments, LoraConfig, BitsAndBytesConfig, …
// from_pretrained as one object with TRL's names. Errors: an argument that decides about memory is
// code; a trainer that is not simulated.
Expected<PythonArguments> ReadPython(std::string name, std::string text);

// The code of a notebook's cells, one after the other; nullopt: the tree is no notebook.
std::optional<std::string> CodeOfNotebook(const config::Node& root);

}  // namespace trainfit::readers
