# SPDX-License-Identifier: Apache-2.0
# cpack -G DEB in a build directory makes the Debian package of what cmake --install puts in place.
set(debian ${PROJECT_SOURCE_DIR}/contrib/debian)
set(SDSFS_PACKAGE_MAINTAINER "The sdsfs maintainers <maintainers@users.noreply.sdsfs.example>" CACHE STRING
    "Who answers for packages made here: a name and an address")

set(CPACK_PACKAGE_NAME sdsfs)
set(CPACK_PACKAGE_VENDOR sdsfs)
set(CPACK_PACKAGE_CONTACT "${SDSFS_PACKAGE_MAINTAINER}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "scientific datasets as files (FUSE)")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/DebianFiles.cmake)
set(CPACK_SDSFS_DEBIAN ${debian})

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"sdsfs mounts a signal-dataset root (radio captures, radar, biosignals:
multidimensional records in immutable shards) so that any program reads
its records as NumPy files, from a local disk, S3, Google Cloud Storage
or a web server. Everything is verified on the way; what fails a check is
an input/output error and never a wrong value.
.
Annotations are published by writing files into the mount.")
# libfuse calls fusermount3 for whoever is not root.
set(CPACK_DEBIAN_PACKAGE_DEPENDS fuse3)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Servers are asked by way of TLS.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS ca-certificates)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${debian}/postinst ${debian}/postrm)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

include(CPack)
