# What `cmake --install` puts where: headers, both libraries, pkg-config and CMake package files, the command with its manual
# pages and completion, and hawser-sim.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/hawser)

install(DIRECTORY include/hawser DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(TARGETS hawser_shared EXPORT hawserTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS hawser_static EXPORT hawserStaticTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT hawserTargets NAMESPACE hawser:: DESTINATION ${package_dir})
install(EXPORT hawserStaticTargets NAMESPACE hawser:: DESTINATION ${package_dir})

configure_package_config_file(cmake/hawserConfig.cmake.in ${PROJECT_BINARY_DIR}/hawserConfig.cmake
    INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/hawserConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/hawserConfig.cmake ${PROJECT_BINARY_DIR}/hawserConfigVersion.cmake
    DESTINATION ${package_dir})

# The .pc file is written at install, when the prefix is known (cmake --install --prefix).
get_property(program_wraps GLOBAL PROPERTY hawser_program_wraps)
set(pc_names hawser)
if(TARGET hawser_programs)
    list(APPEND pc_names hawser-sim)
endif()
install(CODE "
    set(program_wraps \"${program_wraps}\")
    set(PROJECT_DESCRIPTION \"${PROJECT_DESCRIPTION}\")
    set(PROJECT_VERSION \"${PROJECT_VERSION}\")
    foreach(kind lib include)
        set(dir \"${CMAKE_INSTALL_LIBDIR}\")
        if(kind STREQUAL include)
            set(dir \"${CMAKE_INSTALL_INCLUDEDIR}\")
        endif()
        if(IS_ABSOLUTE \"\${dir}\")
            set(pc_\${kind}dir \"\${dir}\")
        else()
            set(pc_\${kind}dir \"\\\${prefix}/\${dir}\")
        endif()
    endforeach()
    foreach(name ${pc_names})
        configure_file(\"${PROJECT_SOURCE_DIR}/cmake/\${name}.pc.in\" \"${PROJECT_BINARY_DIR}/\${name}.pc\" @ONLY)
    endforeach()")
foreach(name ${pc_names})
    install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

# The manual page and the completions are made from the same option rows as the help, by the command itself.
if(TARGET hawser AND NOT CMAKE_CROSSCOMPILING)
    install(CODE "
        function(hawser_write file)
            execute_process(COMMAND \"$<TARGET_FILE:hawser>\" \${ARGN} OUTPUT_FILE \"${PROJECT_BINARY_DIR}/\${file}\"
                COMMAND_ERROR_IS_FATAL ANY)
        endfunction()
        hawser_write(hawser.1 man)
        hawser_write(completion.bash completion bash)
        hawser_write(completion.zsh completion zsh)
        hawser_write(completion.fish completion fish)")
    install(FILES ${PROJECT_BINARY_DIR}/hawser.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    install(FILES ${PROJECT_BINARY_DIR}/completion.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
        RENAME hawser)
    install(FILES ${PROJECT_BINARY_DIR}/completion.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _hawser)
    install(FILES ${PROJECT_BINARY_DIR}/completion.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
        RENAME hawser.fish)
endif()
