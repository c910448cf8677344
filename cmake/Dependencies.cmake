# Third-party libraries, all from the distribution (tools/packages.sh has the package names).
# A target that only one folder needs is found in that folder's CMakeLists.txt.

find_package(nlohmann_json REQUIRED)
find_package(tl-expected REQUIRED)

# fmt comes as a shared library only, which would pull in a second, shared libstdc++ beside the
# static one. Compiling it once here also spares every file the header-only mode's extra time.
find_path(FMT_INCLUDE fmt/format-inl.h REQUIRED)
add_library(trainfit_fmt STATIC "${CMAKE_CURRENT_LIST_DIR}/fmt_static.cc")
target_include_directories(trainfit_fmt SYSTEM PUBLIC "${FMT_INCLUDE}")
add_library(fmt::fmt ALIAS trainfit_fmt)
set_target_properties(trainfit_fmt PROPERTIES EXPORT_NAME fmt)
install(TARGETS trainfit_fmt EXPORT trainfitTargets
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")

# yaml-cpp likewise: its CMake files name the shared library, the static one lies beside it.
find_path(YAML_CPP_INCLUDE yaml-cpp/yaml.h REQUIRED)
find_library(YAML_CPP_STATIC libyaml-cpp.a REQUIRED)
add_library(yaml-cpp::yaml-cpp STATIC IMPORTED GLOBAL)
set_target_properties(yaml-cpp::yaml-cpp PROPERTIES
  IMPORTED_LOCATION "${YAML_CPP_STATIC}"
  INTERFACE_INCLUDE_DIRECTORIES "${YAML_CPP_INCLUDE}")

if(TRAINFIT_TESTS)
  find_package(GTest REQUIRED)
  find_package(rapidcheck REQUIRED)
endif()
if(TRAINFIT_BENCH)
  find_package(benchmark REQUIRED)
endif()
