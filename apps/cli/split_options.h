// Options that split a model over cards and hosts, and what of a layer is recomputed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "cli/request.h"

namespace trainfit::cli {

std::optional<Diagnostic> SetTensorParallel(std::string_view value, Request* request);
std::optional<Diagnostic> SetSequenceParallel(std::string_view value, Request* request);
std::optional<Diagnostic> SetPipelineParallel(std::string_view value, Request* request);
std::optional<Diagnostic> SetVirtualStages(std::string_view value, Request* request);
std::optional<Diagnostic> SetContextParallel(std::string_view value, Request* request);
std::optional<Diagnostic> SetExpertParallel(std::string_view value, Request* request);
std::optional<Diagnostic> SetExpertTensor(std::string_view value, Request* request);
// "optimizer", "params", "optimizer,params"; each with "=nvme" when it goes to a disk.
std::optional<Diagnostic> SetOffload(std::string_view value, Request* request);
// "core-attn,layernorm"
std::optional<Diagnostic> SetRecompute(std::string_view value, Request* request);
std::vector<std::string> RecomputeWords();

}  // namespace trainfit::cli
