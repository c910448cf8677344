# trainfit_test(<name> SOURCES <file>... LINKS <library>...)
#
# Builds <name>_test from the sources, and <name>_slow_test from those called *_slow_test.cc, which
# carry the ctest label "slow" and run in `./test --full` only. Every test case is one ctest test;
# all run in the repository's root, so that they find data/ and tests/ by relative path.

include(GoogleTest)

function(trainfit_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINKS")
  set(slow ${arg_SOURCES})
  set(quick ${arg_SOURCES})
  list(FILTER slow INCLUDE REGEX "_slow_test\\.cc$")
  list(FILTER quick EXCLUDE REGEX "_slow_test\\.cc$")
  if(quick)
    set(timeout 60)
    if(TRAINFIT_SANITIZE)  # costs some tenfold
      set(timeout 600)
    endif()
    trainfit_test_program(${name}_test quick "${quick}" "${arg_LINKS}" ${timeout})
  endif()
  if(slow)
    trainfit_test_program(${name}_slow_test slow "${slow}" "${arg_LINKS}" 900)
  endif()
endfunction()

function(trainfit_test_program target label sources links timeout)
  add_executable(${target} ${sources})
  target_link_libraries(${target} PRIVATE ${links} GTest::gmock_main GTest::gtest rapidcheck
                        rapidcheck_gtest)
  trainfit_precompiled(${target} tests)
  # Found when ctest runs, not when the program is linked: a build starts no test program.
  gtest_discover_tests(${target}
    TEST_PREFIX "${name}/"
    WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}"
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS ${label} TIMEOUT ${timeout})
endfunction()
