// trainfit: the command line. Reads arguments and environment, asks src/api, prints one answer.

#include <csignal>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "base/check.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/environment.h"
#include "cli/help.h"
#include "cli/output.h"

namespace trainfit::cli {
namespace {

[[noreturn]] void EndWithFault(const std::string& message) {
  PrintComplaint("internal error: " + message +
                 "\n  note: this is a mistake in trainfit, not in what you typed\n");
  std::_Exit(kInternal);
}

int Print(const std::string& text) { return PrintAnswer(text) ? kOk : kInternal; }

int Run(const std::vector<std::string>& words) {
  const Environment environment = ReadEnvironment();
  if (words.empty()) {
    PrintComplaint(ShortHelp(environment));
    return kUsage;
  }
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
  // A closed pipe is then an error of write(), which ends quietly.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return trainfit::cli::Run({argv + (argc > 0 ? 1 : 0), argv + argc});
  } catch (const std::exception& exception) {
    EndWithFault(exception.what());
  }
}
