# trainfit_program(<name> SOURCES <file>... [LINKS <library>...])
#
# A program under apps/. It carries the C++ runtime in itself and is no position-independent
# executable: loading shared libraries and relocating are a good part of a 10 ms answer.

function(trainfit_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINKS")
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE "${CMAKE_SOURCE_DIR}/apps")
  target_link_libraries(${name} PRIVATE ${arg_LINKS})
  if(NOT TRAINFIT_SANITIZE)
    target_link_options(${name} PRIVATE -static-libstdc++ -static-libgcc -no-pie)
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
endfunction()
