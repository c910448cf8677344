// One builder per architecture family; registry.cc maps model types to them.
#pragma once

#include <vector>

#include "readers/decoder_plan.h"

namespace trainfit::readers {

// llama_like.cc
void BuildLlama(ReadContext& context);
void BuildMistral(ReadContext& context);
void BuildQwen2(ReadContext& context);
void BuildQwen3(ReadContext& context);
void BuildSmolLm3(ReadContext& context);
void BuildInternLm(ReadContext& context);
void BuildGlm(ReadContext& context);
void BuildGlm4(ReadContext& context);
void BuildPhi3(ReadContext& context);
void BuildStarcoder2(ReadContext& context);
void BuildStableLm(ReadContext& context);

// gemma.cc
void BuildGemma(ReadContext& context);
void BuildGemma2(ReadContext& context);
void BuildGemma3Text(ReadContext& context);

// olmo_cohere.cc
void BuildOlmo(ReadContext& context);
void BuildOlmo2(ReadContext& context);
void BuildCohere(ReadContext& context);

// moe.cc
void BuildMixtral(ReadContext& context);
void BuildQwen2Moe(ReadContext& context);
void BuildQwen3Moe(ReadContext& context);

}  // namespace trainfit::readers
