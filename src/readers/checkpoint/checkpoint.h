// Files of weights on disk, of which only headers are read.
#pragma once

#include <string>

#include "base/expected.h"
#include "spec/model.h"

namespace trainfit::readers {

// Whether the name is that of a file of weights or of an index of such files: *.safetensors,
// *.gguf,
// *.index.json.
bool IsCheckpointFile(const std::string& path);

// The file of weights that a folder without a config.json has; empty: none that can be read.
std::string CheckpointInFolder(const std::string& folder);

// The model of such a file. A config.json beside it says what the tensors compute; their number is
// then compared with it, and `warnings` tells where they differ. Errors: those of the formats, of
// an index whose files are missing, elsewhere or without the tensors that it says they have, and an
// index of PyTorch files without a config.json, since only unpickling would tell their shapes.
Expected<spec::ModelSpec> ReadCheckpoint(const std::string& path, const std::string& id,
                                         Diagnostics* warnings);

}  // namespace trainfit::readers
