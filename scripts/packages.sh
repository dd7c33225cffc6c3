# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced by quickstart and test: which Debian packages are needed, and how they are installed.

# shellcheck disable=SC2034  # both are read by those who source this
build_packages="gcc libc6-dev cmake ninja-build pkg-config fuse3 libfuse3-dev libjson-c-dev libssl-dev libzstd-dev libbrotli-dev libsqlite3-dev libcurl4-openssl-dev"
# shellcheck disable=SC2034
test_packages="clang openssl fish zsh libclang-rt-14-dev llvm libcmocka-dev python3 python3-venv zstd attr jq sqlite3 rsync mandoc shellcheck util-linux procps ca-certificates ceph-mon ceph-osd ceph-common radosgw nghttp2-proxy debootstrap systemd-container dpkg-dev file"

say() {
    printf '\n==> %s\n' "$*"
}

# need PACKAGE...: installs those that are missing, with sudo where we are not root.
need() {
    local missing=() package
    for package in "$@"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q '^install ok installed$' || missing+=("$package")
    done
    if [ "${#missing[@]}" -eq 0 ]; then
        return
    fi
    say "installing ${missing[*]}"
    local root=()
    if [ "$(id -u)" -ne 0 ]; then
        root=(sudo)
    fi
    "${root[@]}" apt-get update -q
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"
}
