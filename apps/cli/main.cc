// trainfit: the command line. Reads arguments and environment, asks src/api, prints one answer.

#include <malloc.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "base/check.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/complete.h"
#include "cli/environment.h"
#include "cli/help.h"
#include "cli/manual.h"
#include "cli/output.h"

namespace trainfit::cli {
namespace {

[[noreturn]] void EndWithFault(const std::string& message) {
  PrintComplaint("internal error: " + message +
                 "\n  note: this is a mistake in trainfit, not in what you typed\n");
  std::_Exit(kInternal);
}

// Memory that was freed is used again, not given back and asked for anew: an answer takes some
// milliseconds, and page faults would be a sixth of them.
void KeepFreedMemory() {
#ifdef __GLIBC__
  constexpr int kMost = 1 << 28;
  mallopt(M_MMAP_THRESHOLD, kMost);
  mallopt(M_TRIM_THRESHOLD, kMost);
  mallopt(M_TOP_PAD, 1 << 20);
#endif
}

int Print(const std::string& text) { return PrintAnswer(text) ? kOk : kInternal; }

int PrintCandidates(const std::vector<std::string>& words, const Environment& environment) {
  std::string text;
  for (const std::string& candidate : Complete({words.begin() + 1, words.end()}, environment)) {
    text += candidate + "\n";
  }
  return Print(text);
}

int Run(const std::vector<std::string>& words) {
  const Environment environment = ReadEnvironment();
  if (words.empty()) {
    PrintComplaint(ShortHelp(environment));
    return kUsage;
  }
  if (words.front() == "__complete") return PrintCandidates(words, environment);
  if (words.front() == "__manual") return Print(ManualPage());
  const Arguments arguments = ParseArguments(words);
  if (arguments.request.help) return Print(Help(*arguments.command, environment));
  if (arguments.request.version) return Print("trainfit " TRAINFIT_VERSION "\n");
  if (!arguments.errors.empty()) return PrintErrors(arguments.errors);
  return arguments.command->run(arguments.request, environment);
}

}  // namespace
}  // namespace trainfit::cli

int main(int argc, char** argv) {
  using trainfit::cli::EndWithFault;
  trainfit::SetCheckHandler(EndWithFault);
  trainfit::cli::KeepFreedMemory();
  // A closed pipe is then an error of write(), which ends quietly.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return trainfit::cli::Run({argv + (argc > 0 ? 1 : 0), argv + argc});
  } catch (const std::exception& exception) {
    EndWithFault(exception.what());
  }
}
