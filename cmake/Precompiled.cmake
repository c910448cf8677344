# Headers that nearly every file includes, parsed once: a third of the build's time. Every file still
# includes what it uses; the build with clang (./test --full) has no precompiled headers and shows it.

option(TRAINFIT_PRECOMPILED "Parse common headers once" ON)

# trainfit_precompiled(<target> <holder>): <holder> is `std` or `tests`.
function(trainfit_precompiled target holder)
  if(TRAINFIT_PRECOMPILED AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_precompile_headers(${target} REUSE_FROM trainfit_precompiled_${holder})
  endif()
endfunction()

if(TRAINFIT_PRECOMPILED AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(common <algorithm> <array> <cmath> <cstdint> <functional> <map> <memory> <optional> <span>
             <string> <string_view> <tuple> <utility> <variant> <vector> <fmt/format.h>
             <tl/expected.hpp>)
  add_library(trainfit_precompiled_std OBJECT "${CMAKE_CURRENT_LIST_DIR}/empty.cc")
  target_link_libraries(trainfit_precompiled_std PRIVATE fmt::fmt tl::expected)
  target_precompile_headers(trainfit_precompiled_std PRIVATE ${common})
  if(TRAINFIT_TESTS)
    add_library(trainfit_precompiled_tests OBJECT "${CMAKE_CURRENT_LIST_DIR}/empty.cc")
    target_link_libraries(trainfit_precompiled_tests PRIVATE fmt::fmt tl::expected GTest::gmock
                          GTest::gtest rapidcheck rapidcheck_gtest)
    target_precompile_headers(trainfit_precompiled_tests PRIVATE ${common} <gmock/gmock.h>
                              <gtest/gtest.h>)
  endif()
endif()
