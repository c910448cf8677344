# trainfit_library(<folder> [LINKS <neighbour or library>...])
#
# One folder of src/ is one static library, trainfit::<folder>, of all its *.cc but the tests. It
# is linked with the neighbours that src/layers.txt allows; LINKS adds third-party libraries. A
# neighbour may be named in LINKS for the reader's sake, one that is not allowed is an error.
# *_test.cc become the test program <folder>_test, *_slow_test.cc <folder>_slow_test.

function(trainfit_library folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LINKS")
  if(NOT folder IN_LIST TRAINFIT_LAYERS)
    message(FATAL_ERROR "src/${folder} has no row in src/layers.txt")
  endif()

  set(libraries "")
  foreach(item IN LISTS arg_LINKS)
    string(REGEX REPLACE "^trainfit::" "" name "${item}")
    if(NOT name IN_LIST TRAINFIT_LAYERS)
      list(APPEND libraries "${item}")
    elseif(NOT name IN_LIST TRAINFIT_NEIGHBOURS_${folder})
      message(FATAL_ERROR "src/${folder} may not link ${name}: see src/layers.txt")
    endif()
  endforeach()
  foreach(neighbour IN LISTS TRAINFIT_NEIGHBOURS_${folder})
    if(EXISTS "${CMAKE_SOURCE_DIR}/src/${neighbour}/CMakeLists.txt")
      list(APPEND libraries "trainfit::${neighbour}")
    endif()
  endforeach()

  file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")

  # A folder of headers alone has nothing to archive.
  if(sources)
    add_library(trainfit_${folder} STATIC ${sources})
    set(scope PUBLIC)
    trainfit_precompiled(trainfit_${folder} std)
  else()
    add_library(trainfit_${folder} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(trainfit_${folder} ${scope}
    "$<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/src>"
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/trainfit>")
  target_compile_features(trainfit_${folder} ${scope} cxx_std_20)
  target_link_libraries(trainfit_${folder} ${scope} ${libraries})
  add_library(trainfit::${folder} ALIAS trainfit_${folder})
  set_target_properties(trainfit_${folder} PROPERTIES EXPORT_NAME ${folder})
  install(TARGETS trainfit_${folder} EXPORT trainfitTargets
          ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  set_property(GLOBAL APPEND PROPERTY TRAINFIT_LIBRARIES trainfit::${folder})

  if(TRAINFIT_TESTS AND tests)
    trainfit_test(${folder} SOURCES ${tests} LINKS trainfit::${folder})
  endif()
endfunction()
