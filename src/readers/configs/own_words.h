// A change of `fit` in the words of the user's own files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "readers/configs/reading.h"

namespace trainfit::readers {

struct Edit {
  std::size_t file = 0;  // of ConfigReading::files
  std::string key;
  std::string value;
  bool is_new = false;    // the key does not stand there yet
  std::size_t begin = 0;  // bytes of its value
  std::size_t end = 0;
};

// What to write where for "--micro-batch 1 --gradient-accumulation 8". Empty: the files' tools have
// no words for it.
std::vector<Edit> InOwnWords(const ConfigReading& reading, std::string_view change);

// "per_device_train_batch_size: 1", as the file writes it.
std::string EditText(const ConfigReading& reading, const Edit& edit);

// The text of files[file] with its edits; comments, order and line ends are kept. Errors: a new key
// has no place (a command line over several commands, JSON that is empty).
Expected<std::string> ApplyEdits(const ConfigReading& reading, std::size_t file,
                                 const std::vector<Edit>& edits);

}  // namespace trainfit::readers
