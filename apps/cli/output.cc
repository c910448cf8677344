#include "cli/output.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

namespace trainfit::cli {
namespace {

// 0, or the error number.
int WriteAll(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace

bool PrintAnswer(std::string_view text) {
  const int error = WriteAll(STDOUT_FILENO, text);
  if (error == 0 || error == EPIPE) return true;
  PrintComplaint(std::string("error: the answer could not be written: ") + std::strerror(error) +
                 "\n");
  return false;
}

void PrintComplaint(std::string_view text) { WriteAll(STDERR_FILENO, text); }

bool WriteFile(const std::string& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file.fail()) return true;
  PrintComplaint("error: \"" + path + "\" could not be written\n");
  return false;
}

}  // namespace trainfit::cli
