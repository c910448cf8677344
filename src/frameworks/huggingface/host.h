// What lies on the host and on disk while the model is loaded and saved.
#pragma once

#include "frameworks/huggingface/model_frames.h"
#include "program/program.h"

namespace trainfit::frameworks::huggingface {

// How the weights come from the files to the GPUs.
enum class LoadPath {
  kEveryRank,   // each rank has a copy on the host, then moves it
  kRankZero,    // one copy a node; the others get theirs over the network
  kShardByOne,  // file by file, or tensor by tensor: never the whole
};
LoadPath LoadPathOf(const plan::Plan& plan);

// Bytes of all weights as they are held whole, adapters left out.
Bytes WholeWeights(const ModelFrames& frames);

// A rank's own copies: there while it loads; there while it saves.
const program::Segment* RecordRankCopy(const ModelFrames& frames, bool allocate);
const program::Segment* RecordRankSave(const ModelFrames& frames);

// The node's phases: download, load, save.
program::RankProgram RecordNode(const ModelFrames& frames);

}  // namespace trainfit::frameworks::huggingface
