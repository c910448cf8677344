// Expected<T>: a value, or the diagnostics that say why there is none.
#pragma once

#include <tl/expected.hpp>
#include <utility>

#include "base/diagnostic.h"

namespace trainfit {

template <typename T>
using Expected = tl::expected<T, Diagnostics>;

// Wraps errors for returning: `return Fail(Error("unknown-gpu", …));`
inline tl::unexpected<Diagnostics> Fail(Diagnostic diagnostic) {
  return tl::unexpected<Diagnostics>(Diagnostics{std::move(diagnostic)});
}
inline tl::unexpected<Diagnostics> Fail(Diagnostics diagnostics) {
  return tl::unexpected<Diagnostics>(std::move(diagnostics));
}

}  // namespace trainfit

// ASSIGN_OR_RETURN(auto x, Function()): takes the value, or returns the errors to the caller.
#define TRAINFIT_CONCAT_INNER(a, b) a##b
#define TRAINFIT_CONCAT(a, b) TRAINFIT_CONCAT_INNER(a, b)
#define ASSIGN_OR_RETURN(declaration, expression) \
  ASSIGN_OR_RETURN_IMPL(TRAINFIT_CONCAT(expected_, __LINE__), declaration, expression)
#define ASSIGN_OR_RETURN_IMPL(temporary, declaration, expression)                    \
  auto temporary = (expression);                                                     \
  if (!temporary.has_value()) return ::trainfit::Fail(std::move(temporary).error()); \
  declaration = std::move(temporary).value()
