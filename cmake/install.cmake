# What `cmake --install` and `cpack` give: header, both libraries, CMake package, upconv.pc, and the
# command with its man page, completions and problem files. Nothing in them holds an absolute path, so the whole prefix may be moved.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/upconv)

if(upconv_has_command)
    install(TARGETS upconv_command RUNTIME)
    set(share ${CMAKE_INSTALL_DATAROOTDIR})
    install(FILES man/upconv.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    install(FILES ${problems} DESTINATION ${share}/upconv/problems)
    install(FILES completions/upconv.bash DESTINATION ${share}/bash-completion/completions
        RENAME upconv)
    install(FILES completions/upconv.fish DESTINATION ${share}/fish/vendor_completions.d)
    # Debian's zsh looks for what packages bring in a folder of its own.
    set(zsh_dir ${share}/zsh/site-functions)
    if(CMAKE_INSTALL_PREFIX STREQUAL "/usr" AND EXISTS /etc/debian_version)
        set(zsh_dir ${share}/zsh/vendor-completions)
    endif()
    install(FILES completions/_upconv DESTINATION ${zsh_dir})
endif()
install(TARGETS upconv_shared upconv_static EXPORT upconv-targets
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES include/upconv.h TYPE INCLUDE)
install(FILES LICENSE TYPE DOC)

# find_package(upconv)
install(EXPORT upconv-targets NAMESPACE upconv:: DESTINATION ${cmake_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/upconv-config-version.cmake
    COMPATIBILITY SameMinorVersion) # before 1.0 a minor version may change the API
install(FILES cmake/upconv-config.cmake ${PROJECT_BINARY_DIR}/upconv-config-version.cmake
    DESTINATION ${cmake_dir})

# pkg-config upconv; the prefix is told from where the file lies
set(pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX
    BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig OUTPUT_VARIABLE pc_to_prefix)
list(JOIN upconv_link_flags " " pc_libs_private)
configure_file(cmake/upconv.pc.in upconv.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/upconv.pc DESTINATION ${pc_dir})

# One .deb for library, headers and command. `make deb` configures with the prefix /usr, where
# GNUInstallDirs chooses Debian's multiarch folder for libraries.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR "upconv developers")
set(CPACK_PACKAGE_CONTACT "upconv developers <upconv@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON) # Depends as the linked libraries say
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
include(CPack)
