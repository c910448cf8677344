#include "config/file_reader.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "base/nearest_word.h"
#include "config/yaml_reader.h"

namespace trainfit::config {
namespace {

// Closes when it goes out of scope.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

tl::unexpected<Diagnostics> FileError(const std::string& path, std::string code,
                                      std::string message, std::string suggestion = "") {
  SourceSpan span;
  span.file = path;
  return Fail(ErrorAt(std::move(span), std::move(code), std::move(message), std::move(suggestion)));
}

// A file of the same folder whose name is near, as the user could type it; or empty.
std::string SuggestPath(const std::string& path) {
  constexpr int kEntriesRead = 2000;  // a folder may hold millions
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  if (name.empty()) return "";
  const std::unique_ptr<DIR, int (*)(DIR*)> handle(opendir(folder.empty() ? "." : folder.c_str()),
                                                   &closedir);
  if (handle == nullptr) return "";
  std::vector<std::string> names;
  for (int i = 0; i < kEntriesRead; ++i) {
    const dirent* entry = readdir(handle.get());
    if (entry == nullptr) break;
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  std::sort(names.begin(), names.end());  // folders have no order of their own
  const std::string near = NearestWord(name, names);
  return near.empty() ? "" : folder + near;
}

tl::unexpected<Diagnostics> SystemError(const std::string& path, int error) {
  switch (error) {
    case ENOENT:
      return FileError(path, "file-not-found", "no such file", SuggestPath(path));
    case ENOTDIR:
      return FileError(path, "file-not-found", "no such file: a part of the path is not a folder");
    case EACCES:
    case EPERM:
      return FileError(path, "file-unreadable", "cannot be read: permission denied");
    default:
      return FileError(path, "file-unreadable",
                       "cannot be read: " + std::generic_category().message(error));
  }
}

tl::unexpected<Diagnostics> NotAFile(const std::string& path, mode_t mode) {
  if (S_ISDIR(mode)) {
    return FileError(path, "not-a-file", "this is a folder, not a file", "a file inside it");
  }
  const char* copy_first = "write it to a file first, and name that";
  if (S_ISFIFO(mode))
    return FileError(path, "not-a-file", "this is a pipe, not a file", copy_first);
  if (S_ISSOCK(mode)) return FileError(path, "not-a-file", "this is a socket, not a file");
  return FileError(path, "not-a-file", "this is a device, not a file");
}

// 1.5 MiB, 200.0 MiB, 300 bytes.
std::string SizeText(std::size_t bytes) {
  constexpr std::size_t kMebi = std::size_t{1} << 20;
  if (bytes < kMebi) return fmt::format("{} bytes", bytes);
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / kMebi);
}

// `size` is what the file system said; "so far" when the file grew beyond that.
tl::unexpected<Diagnostics> TooLarge(const std::string& path, std::string_view size,
                                     std::size_t limit) {
  return FileError(
      path, "too-large",
      fmt::format("the file is too large: {}, at most {} are read", size, SizeText(limit)));
}

// A regular file, opened for reading; `size` is what it has now.
Expected<int> OpenRegular(const std::string& path, std::uint64_t* size) {
  if (path.empty()) return Fail(Error("file-not-found", "the file name is empty"));
  if (path.find('\0') != std::string::npos) {
    return FileError(path, "file-not-found", "no such file: the name contains a NUL byte");
  }
  // Asked before opening: opening a FIFO or a tape may block or do something.
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0) return SystemError(path, errno);
  if (!S_ISREG(info.st_mode)) return NotAFile(path, info.st_mode);
  const int file = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (file < 0) return SystemError(path, errno);
  // Asked again, of what was opened: the name may mean something else by now.
  const int failed = fstat(file, &info) != 0 ? errno : 0;
  if (failed == 0 && S_ISREG(info.st_mode)) {
    *size = static_cast<std::uint64_t>(info.st_size);
    return file;
  }
  close(file);
  if (failed != 0) return SystemError(path, failed);
  return NotAFile(path, info.st_mode);
}

}  // namespace

Expected<FileHead> ReadFileHead(const std::string& path, std::size_t bytes) {
  FileHead head;
  ASSIGN_OR_RETURN(const int opened, OpenRegular(path, &head.file_bytes));
  const Descriptor file(opened);
  head.text.resize(static_cast<std::size_t>(std::min<std::uint64_t>(bytes, head.file_bytes)));
  std::size_t used = 0;
  while (used < head.text.size()) {
    const ssize_t got = read(file.get(), head.text.data() + used, head.text.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemError(path, errno);
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
  }
  head.text.resize(used);
  return head;
}

Expected<std::string> ReadTextFile(const std::string& path, const ReadLimits& limits) {
  std::uint64_t bytes = 0;
  ASSIGN_OR_RETURN(const int opened, OpenRegular(path, &bytes));
  const Descriptor file(opened);
  const auto size = static_cast<std::size_t>(bytes);
  if (size > limits.max_bytes) return TooLarge(path, SizeText(size), limits.max_bytes);

  // The size is a hint only: files in /proc say 0, a log may grow. One byte beyond the limit
  // tells a full file from one that is too large.
  std::string text;
  std::size_t used = 0;
  while (used <= limits.max_bytes) {
    constexpr std::size_t kChunk = std::size_t{64} << 10;
    const std::size_t expected = used == 0 ? size + 1 : kChunk;
    text.resize(std::min(used + expected, limits.max_bytes + 1));
    const ssize_t got = read(file.get(), text.data() + used, text.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemError(path, errno);
    if (got == 0) {
      text.resize(used);
      return text;
    }
    used += static_cast<std::size_t>(got);
  }
  return TooLarge(path, "it grew while it was read", limits.max_bytes);
}

Expected<Node> ReadJsonFile(const std::string& path, const ReadLimits& limits) {
  ASSIGN_OR_RETURN(std::string text, ReadTextFile(path, limits));
  return ParseJson(path, std::move(text), limits);
}

Expected<Node> ReadYamlFile(const std::string& path, const ReadLimits& limits) {
  ASSIGN_OR_RETURN(std::string text, ReadTextFile(path, limits));
  return ParseYaml(path, std::move(text), limits);
}

}  // namespace trainfit::config
