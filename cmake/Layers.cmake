# Reads src/layers.txt into TRAINFIT_LAYERS (lowest first) and TRAINFIT_NEIGHBOURS_<folder>.

set(TRAINFIT_LAYER_FILE "${CMAKE_SOURCE_DIR}/src/layers.txt")
set_property(DIRECTORY "${CMAKE_SOURCE_DIR}" APPEND
  PROPERTY CMAKE_CONFIGURE_DEPENDS "${TRAINFIT_LAYER_FILE}")

file(STRINGS "${TRAINFIT_LAYER_FILE}" rows REGEX "^[a-z]+:")
foreach(row IN LISTS rows)
  string(REGEX MATCH "^([a-z]+): *(.*)$" matched "${row}")
  set(folder "${CMAKE_MATCH_1}")
  string(REGEX MATCHALL "[a-z]+" neighbours "${CMAKE_MATCH_2}")
  list(APPEND TRAINFIT_LAYERS "${folder}")
  set(TRAINFIT_NEIGHBOURS_${folder} "${neighbours}")
endforeach()
