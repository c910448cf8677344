#include "cli/options.h"

namespace trainfit::cli {

std::string_view Title(Group group) {
  switch (group) {
    case Group::kCase:
      return "The case";
    case Group::kSplit:
      return "Splitting the model (--framework megatron)";
    case Group::kBatch:
      return "Batch";
    case Group::kNumbers:
      return "Numbers and kernels";
    case Group::kLora:
      return "LoRA and QLoRA";
    case Group::kFramework:
      return "Framework";
    case Group::kCatalog:
      return "Catalogue";
    case Group::kOutput:
      return "Output";
  }
  return "";
}

}  // namespace trainfit::cli
