// The nouns of an answer in words: plan, hardware, phases, places, verdicts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.h"
#include "program/event.h"
#include "program/program.h"
#include "report/style.h"
#include "spec/machine.h"
#include "verdict/verdict.h"

namespace trainfit::report {

// "q_proj, v_proj".
std::string Joined(const std::vector<std::string>& words, std::string_view between = ", ");

// "mistralai/Mistral-7B-v0.1, 7,241,732,096 parameters (12.9B active a token)".
std::string ModelText(const spec::ModelSpec& model);
// "LoRA, rank 16 on all-linear; 41,943,040 trainable (0.6 %)".
std::string MethodText(const plan::Plan& plan);
// "micro-batch 1 × 2,048 tokens, 8 accumulated".
std::string BatchText(const plan::Plan& plan);
// "bf16, adamw (fused), checkpointing full, sdpa attention, plain loss".
std::string ChoicesText(const plan::Plan& plan);
// "8 × A100 SXM 80GB, 79.25 GiB (85.10 GB) usable each, sold as 80 GB; $12.00/h".
std::string HardwareText(const spec::Machine& machine);

// "Full", "LoRA", "QLoRA", as papers write them.
std::string_view MethodTitle(spec::Method method);
// "steady step".
std::string PhaseText(program::Phase phase);
// "GPU", "host RAM", "pinned RAM", "disk".
std::string_view PlaceText(program::Place place);
// "fits", "tight", "does not fit", "unknown".
std::string_view FitWord(verdict::Fit fit);
Tone FitTone(verdict::Fit fit);

}  // namespace trainfit::report
