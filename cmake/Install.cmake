# The C++ library for others: headers, archives, and what find_package(trainfit) reads.

include(CMakePackageConfigHelpers)

set(package "${CMAKE_INSTALL_LIBDIR}/cmake/trainfit")
install(EXPORT trainfitTargets NAMESPACE trainfit:: DESTINATION "${package}")
install(DIRECTORY src/ DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/trainfit"
        FILES_MATCHING PATTERN "*.h" PATTERN "*_for_test.h" EXCLUDE)
configure_package_config_file(cmake/trainfitConfig.cmake.in trainfitConfig.cmake
                              INSTALL_DESTINATION "${package}")
write_basic_package_version_file(trainfitConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/trainfitConfig.cmake"
              "${CMAKE_CURRENT_BINARY_DIR}/trainfitConfigVersion.cmake"
        DESTINATION "${package}")
