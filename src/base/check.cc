#include "base/check.h"

#include <cstdlib>

namespace trainfit {
namespace {

CheckHandler g_handler = nullptr;

}  // namespace

void SetCheckHandler(CheckHandler handler) { g_handler = handler; }

namespace internal {

CheckFailure::CheckFailure(const char* file, int line, const char* condition) {
  stream_ << file << ":" << line << ": " << condition << ": ";
}

CheckFailure::~CheckFailure() {
  if (g_handler != nullptr) g_handler(stream_.str());
  std::abort();
}

}  // namespace internal
}  // namespace trainfit
