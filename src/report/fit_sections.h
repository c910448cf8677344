// The paragraphs of a report below its bar. Each is empty, or begins with a blank line (unless said
// otherwise) and ends with a newline.
#pragma once

#include <string>
#include <vector>

#include "base/basis.h"
#include "report/deciding.h"
#include "report/options.h"
#include "report/style.h"
#include "verdict/verdict.h"

namespace trainfit::report {

// "read in source: torch/optim/adamw.py".
std::string BasisText(Basis basis, const std::string& source);

// The verdict with its number and reason, and what no setting of the batch can change. No blank
// line before it.
std::string HeadlineSection(const verdict::Answer& answer, const DecidingPlace& deciding, int width,
                            const Style& style);
// Model, method, batch, choices, hardware, stack: a line each. No blank line.
std::string SubjectSection(const verdict::Answer& answer, const TextOptions& options,
                           const Style& style);

std::string WarningsSection(const std::vector<std::string>& warnings, int width,
                            const Style& style);
// What can be read off while it runs, with ranges, and the moment of the peak. No blank line.
std::string ReadingsSection(const verdict::PlaceAnswer& place, int width, const Style& style);
// One line for every phase, rank class and place but `shown`.
std::string OtherPlacesSection(const verdict::Answer& answer, const verdict::PlaceAnswer& shown,
                               int width, const Style& style);
// Seconds a step, tokens a second, and what bounds them.
std::string TimeSection(const verdict::Answer& answer, const TextOptions& options,
                        const Style& style);
std::string LimitsSection(const verdict::Answer& answer, int width, const Style& style);
std::string RemediesSection(const verdict::Answer& answer, const TextOptions& options,
                            const Style& style);
// Short: what and value. With --explain: basis and source as well.
std::string AssumptionsSection(const std::vector<plan::Assumption>& assumptions,
                               const TextOptions& options, const Style& style);

}  // namespace trainfit::report
