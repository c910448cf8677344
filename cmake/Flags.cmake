# Compiler flags that hold for every target.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# Exceptions stay on: third-party libraries throw, and the file that calls one catches it.
# That src/ itself never throws is checked by tools/check_includes.
# Designated initialisers name what differs from the default, so fields may be left out.
add_compile_options(-Wall -Wextra -Wno-missing-field-initializers)
if(TRAINFIT_WERROR)
  add_compile_options(-Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # gcc bug 105651: a false alarm inside std::string's operator+.
  add_compile_options(-Wno-restrict)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # stable_sort of libstdc++ 12 calls a function that libstdc++ 12 deprecates.
  add_compile_options(-Wno-deprecated-declarations)
endif()

set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
# "Checked" is what the tests run: asserts of the standard library on, quick enough to compile.
set(CMAKE_CXX_FLAGS_CHECKED "-O1 -g -D_GLIBCXX_ASSERTIONS")
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release or Checked" FORCE)
endif()

# One program and no plug-ins: hidden symbols and dropped sections keep the binary small, and the
# fewer pages and relocations it has, the sooner it starts.
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
add_compile_options(-ffunction-sections -fdata-sections)
add_link_options(-Wl,--gc-sections -Wl,--as-needed)

if(TRAINFIT_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()
if(TRAINFIT_FUZZ)
  # Coverage counters in every library, so that the fuzzer sees the branches it takes.
  add_compile_options(-fsanitize=fuzzer-no-link)
  add_link_options(-fsanitize=fuzzer-no-link)
endif()

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CCACHE}")
endif()
