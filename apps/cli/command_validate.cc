#include <unistd.h>

#include <chrono>

#include "api/validation.h"
#include "cli/commands.h"
#include "cli/output.h"

namespace trainfit::cli {
namespace {

using Clock = std::chrono::steady_clock;

// A line that is written over, once a second, and only when somebody feels the wait.
class ProgressLine {
 public:
  void Show(std::size_t done, std::size_t total) {
    const Clock::time_point now = Clock::now();
    if (now < next_ || isatty(STDERR_FILENO) != 1) return;
    next_ = now + std::chrono::seconds(1);
    is_shown_ = true;
    PrintComplaint("\r" + std::to_string(done) + " of " + std::to_string(total) + " records");
  }
  void Clear() {
    if (is_shown_) PrintComplaint("\r\x1b[K");
  }

 private:
  Clock::time_point next_ = Clock::now() + std::chrono::seconds(1);
  bool is_shown_ = false;
};

}  // namespace

int RunValidate(const Request& request, const Environment& environment) {
  ProgressLine line;
  const Expected<api::Validation> validation =
      api::Validate(request.files, CatalogFiles(request, environment),
                    [&](std::size_t done, std::size_t total) { line.Show(done, total); });
  line.Clear();
  if (!validation.has_value()) return PrintErrors(validation.error());
  if (!request.write_accuracy.empty() &&
      !WriteFile(request.write_accuracy, api::AccuracyPage(*validation))) {
    return kUsage;
  }
  api::RenderOptions options;
  options.by = request.by;
  options.worst = static_cast<std::size_t>(request.worst);
  const bool is_written = PrintAnswer(request.json ? api::ValidationJson(*validation)
                                                   : api::ValidationText(*validation, options));
  // What was read is answered; that some of it could not be read is the exit status.
  if (!validation->bad_lines.empty()) return PrintErrors(validation->bad_lines);
  return is_written ? kOk : kInternal;
}

}  // namespace trainfit::cli
