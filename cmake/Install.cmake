# SPDX-License-Identifier: Apache-2.0
# What cmake --install puts in place. cmake/Packaging.cmake makes a package of the same files.

# --- the program

install(TARGETS sdsfs RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# mount(8) looks for its helpers in /sbin: with the prefix /usr they are found there.
install(CODE "file(MAKE_DIRECTORY \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_SBINDIR}\")
              file(CREATE_LINK ../${CMAKE_INSTALL_BINDIR}/sdsfs
                   \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_SBINDIR}/mount.sdsfs\" SYMBOLIC)")

# --- for shells and services

set(completion ${PROJECT_SOURCE_DIR}/contrib/completion)
install(FILES ${completion}/sdsfs.bash RENAME sdsfs
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${completion}/sdsfs.zsh RENAME _sdsfs
        DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${completion}/sdsfs.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

# Templates do nothing until they are enabled; units for a certain mountpoint are examples.
file(GLOB services CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/contrib/systemd/*.service)
install(FILES ${services} DESTINATION lib/systemd/system)

# --- to be read

file(GLOB commands CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/man/*.1)
file(GLOB formats CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/man/*.5)
file(GLOB helpers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/man/*.8)
install(FILES ${commands} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${formats} DESTINATION ${CMAKE_INSTALL_MANDIR}/man5)
install(FILES ${helpers} DESTINATION ${CMAKE_INSTALL_MANDIR}/man8)

install(FILES README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES bench/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/bench) # where the README's numbers are
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN *.md)

set(examples ${CMAKE_INSTALL_DOCDIR}/examples)
install(DIRECTORY contrib/systemd/ DESTINATION ${examples}/systemd
        FILES_MATCHING PATTERN *.mount PATTERN *.automount)
install(DIRECTORY tests/data/sample.sds DESTINATION ${examples})
