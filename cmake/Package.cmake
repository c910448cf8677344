# `cpack -G DEB` and `cpack -G TGZ` in the build folder.

set(CPACK_PACKAGE_NAME trainfit)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "What hardware can train a model, does it fit, and why")
set(CPACK_PACKAGE_CONTACT "the trainfit authors")
set(CPACK_RESOURCE_FILE_LICENSE "${CMAKE_SOURCE_DIR}/LICENSE")
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
include(CPack)
