// CHECK(condition) << "sentence": a programmer's mistake, never a user's.
//
// Nothing below apps/ prints, so the failure goes to a handler that the program installs; without
// one it aborts. The handler must not return.
#pragma once

#include <sstream>
#include <string>

namespace trainfit {

using CheckHandler = void (*)(const std::string& message);

// Installs what a failed CHECK calls. Not thread-safe: call once, first thing in main.
void SetCheckHandler(CheckHandler handler);

namespace internal {

// Collects the sentence and ends the program when it goes out of scope.
class CheckFailure {
 public:
  CheckFailure(const char* file, int line, const char* condition);
  CheckFailure(const CheckFailure&) = delete;
  CheckFailure& operator=(const CheckFailure&) = delete;
  [[noreturn]] ~CheckFailure();

  std::ostream& stream() { return stream_; }

 private:
  std::ostringstream stream_;
};

}  // namespace internal
}  // namespace trainfit

#define CHECK(condition)            \
  while (!(condition)) /* NOLINT */ \
  ::trainfit::internal::CheckFailure(__FILE__, __LINE__, #condition).stream()
