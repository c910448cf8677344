#include "config/file_reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace trainfit::config {
namespace {

// A folder of its own for each test, removed afterwards.
class FileReader : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/reader.XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name), std::ios::binary) << text;
    return Path(name);
  }
  // What is said about a path, with the folder's name left out.
  std::string ErrorOf(const std::string& path, const ReadLimits& limits = {}) const {
    const Expected<std::string> text = ReadTextFile(path, limits);
    if (text.has_value()) return "no error";
    std::string rendered = RenderText(text.error()[0]);
    for (std::size_t at; (at = rendered.find(folder_)) != std::string::npos;) {
      rendered.replace(at, folder_.size(), "D");
    }
    return rendered;
  }

  std::string folder_;
};

TEST_F(FileReader, ReadsRegularFilesWhole) {
  EXPECT_EQ(ReadTextFile(Write("a", "")), "");
  const std::string bytes = std::string("a\0\r\n\xff", 5) + std::string(300'000, 'x');
  EXPECT_EQ(ReadTextFile(Write("b", bytes)), bytes);
  std::filesystem::create_symlink("b", Path("link"));
  EXPECT_EQ(ReadTextFile(Path("link")), bytes);
}

TEST_F(FileReader, ReadsFilesWhoseSizeIsNotKnown) {
  const Expected<std::string> text = ReadTextFile("/proc/self/status");
  ASSERT_TRUE(text.has_value());
  EXPECT_NE(text->find("Name:"), std::string::npos);
}

TEST_F(FileReader, SaysWhyNot) {
  EXPECT_EQ(ErrorOf(folder_),
            "D: error: this is a folder, not a file\n"
            "  try: a file inside it\n");
  ASSERT_EQ(mkfifo(Path("fifo").c_str(), 0600), 0);
  EXPECT_EQ(ErrorOf(Path("fifo")),
            "D/fifo: error: this is a pipe, not a file\n"
            "  try: write it to a file first, and name that\n");
  EXPECT_EQ(ErrorOf("/dev/zero"), "/dev/zero: error: this is a device, not a file\n");
  EXPECT_EQ(ErrorOf("/dev/tty"), "/dev/tty: error: this is a device, not a file\n");

  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, Path("s").c_str(), sizeof(address.sun_path) - 1);
  ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(ErrorOf(Path("s")), "D/s: error: this is a socket, not a file\n");
  close(fd);
}

TEST_F(FileReader, MissingFileWithTheNearOneThatIsThere) {
  EXPECT_EQ(ErrorOf(Path("nothing.json")), "D/nothing.json: error: no such file\n");
  Write("config.json", "{}");
  EXPECT_EQ(ErrorOf(Path("cofnig.json")),
            "D/cofnig.json: error: no such file\n"
            "  try: D/config.json\n");
  EXPECT_EQ(ErrorOf(Path("config.json/x")),
            "D/config.json/x: error: no such file: a part of the path is not a folder\n");
  EXPECT_EQ(ErrorOf(Path("no/such/folder")), "D/no/such/folder: error: no such file\n");
  EXPECT_EQ(ErrorOf(""), "error: the file name is empty\n");
  EXPECT_EQ(ErrorOf(Path("config.json") + std::string("\0x", 2)),
            "D/config.json\\x00x: error: no such file: the name contains a NUL byte\n");
  std::filesystem::create_symlink("loop", Path("loop"));
  EXPECT_EQ(ErrorOf(Path("loop")),
            "D/loop: error: cannot be read: Too many levels of symbolic links\n");
}

TEST_F(FileReader, Unreadable) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const std::string path = Write("secret", "x");
  ASSERT_EQ(chmod(path.c_str(), 0), 0);
  EXPECT_EQ(ErrorOf(path), "D/secret: error: cannot be read: permission denied\n");
}

TEST_F(FileReader, RefusesLargeFilesByTheirSize) {
  const std::string path = Write("large", "");
  ASSERT_EQ(truncate(path.c_str(), off_t{200} << 20), 0);  // a hole: takes no disk
  EXPECT_EQ(ErrorOf(path),
            "D/large: error: the file is too large: 200.0 MiB, at most 16.0 MiB are read\n");
  EXPECT_EQ(ErrorOf(Write("five", "12345"), {.max_bytes = 4}),
            "D/five: error: the file is too large: 5 bytes, at most 4 bytes are read\n");
  EXPECT_EQ(ReadTextFile(Write("four", "1234"), {.max_bytes = 4}), "1234");
}

TEST_F(FileReader, ReadingIsBoundedWhenTheSizeLies) {
  EXPECT_EQ(ErrorOf("/proc/self/status", {.max_bytes = 10}),
            "/proc/self/status: error: the file is too large: it grew while it was read, at most "
            "10 bytes are read\n");
}

TEST_F(FileReader, ReadsJson) {
  const Expected<Node> node = ReadJsonFile(Write("a.json", "{\"a\": 1}"));
  ASSERT_TRUE(node.has_value());
  EXPECT_EQ(node->Find("a")->integer, 1);
  EXPECT_EQ(node->Span().file, Path("a.json"));
  EXPECT_FALSE(ReadJsonFile(Write("b.json", "{")).has_value());
  EXPECT_FALSE(ReadJsonFile(Path("c.json")).has_value());
}

}  // namespace
}  // namespace trainfit::config
