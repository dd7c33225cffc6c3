# SPDX-License-Identifier: Apache-2.0
# Run by CPack on the installed tree before it is packed: what Debian wants otherwise than
# cmake --install puts it.
set(usr ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr)
set(doc ${usr}/share/doc/sdsfs)

# The licence's text is on every Debian system; the copyright file points to it.
file(REMOVE ${doc}/LICENSE)
file(COPY_FILE ${CPACK_SDSFS_DEBIAN}/copyright ${doc}/copyright)
file(RENAME ${doc}/CHANGELOG.md ${doc}/changelog)
file(COPY_FILE ${CPACK_SDSFS_DEBIAN}/changelog ${doc}/changelog.Debian)

# Debian's zsh does not look into site-functions of /usr/share.
file(MAKE_DIRECTORY ${usr}/share/zsh/vendor-completions)
file(RENAME ${usr}/share/zsh/site-functions/_sdsfs ${usr}/share/zsh/vendor-completions/_sdsfs)
file(REMOVE_RECURSE ${usr}/share/zsh/site-functions)

file(COPY ${CPACK_SDSFS_DEBIAN}/plocate-updatedb.service.d
     DESTINATION ${usr}/lib/systemd/system
     FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)

file(GLOB compressed ${usr}/share/man/man*/*.[1-8] ${doc}/changelog ${doc}/changelog.Debian)
execute_process(COMMAND gzip -9n ${compressed} COMMAND_ERROR_IS_FATAL ANY)
