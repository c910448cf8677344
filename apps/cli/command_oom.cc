#include <cstddef>
#include <iostream>
#include <string>

#include "api/oom.h"
#include "cli/commands.h"
#include "cli/output.h"

namespace trainfit::cli {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{16} << 20;

// Standard input, whole; an error beyond the size that is read of files.
Expected<std::string> ReadStdin() {
  std::string text;
  std::string piece(std::size_t{1} << 16, '\0');
  while (std::cin.read(piece.data(), static_cast<std::streamsize>(piece.size())) ||
         std::cin.gcount() > 0) {
    text.append(piece, 0, static_cast<std::size_t>(std::cin.gcount()));
    if (text.size() > kMaxBytes) {
      return Fail(Error("too-large", "more than 16 MiB on standard input",
                        "tail -c 1000000 train.log | trainfit oom -"));
    }
  }
  return text;
}

}  // namespace

int RunOom(const Request& request, const Environment& environment) {
  if (request.files.size() != 1) {
    return PrintErrors({Error("too-many-files", "one message at a time",
                              "configuration files come after --with")});
  }
  const std::string& file = request.files[0];
  Expected<std::string> text = file == "-" ? ReadStdin() : api::ReadLog(file);
  if (!text) return PrintErrors(text.error());
  api::OomRequest question;
  question.name = file == "-" ? "<stdin>" : file;
  question.text = std::move(*text);
  question.files = request.with;
  question.model = ModelOf(request, environment);
  question.on = request.on;
  question.recipe = request.recipe;
  question.catalog_files = CatalogFiles(request, environment);
  const Expected<api::Oom> oom = api::ExplainOom(question);
  if (!oom) return PrintErrors(oom.error());
  const bool is_written = PrintAnswer(
      request.json ? api::OomJson(*oom) : api::OomText(*oom, TextOptionsFor(request, environment)));
  return is_written ? kOk : kInternal;
}

}  // namespace trainfit::cli
