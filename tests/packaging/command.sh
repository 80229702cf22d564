#!/bin/sh
# The library without the command: asked for, or because a library that only the command needs is
# not there. Configures only; the build is the same with fewer targets.
. "$(dirname "$0")/common.sh"

# configure OPTIONS..., then has_command: whether the command is among the targets
configure() {
    rm -rf build
    cmake -S "$SOURCE" -B build -DBUILD_TESTING=OFF "$@" >log.txt 2>&1
}
has_command() {
    cmake --build build --target help | grep upconv_command >/dev/null
}

configure
has_command || fail "the command is missing although everything is there"

configure -DUPCONV_COMMAND=OFF
! has_command || fail "UPCONV_COMMAND=OFF builds the command"
! grep -q "libyaml" log.txt || fail "it complains about what nobody asked for"

for missing in YAML_LIBRARY CJSON_LIBRARY YAML_INCLUDE_DIR CJSON_INCLUDE_DIR; do
    configure -D$missing=OFF
    ! has_command || fail "a command without $missing"
    grep -q "libyaml-dev" log.txt || fail "it does not say what to install"
    ! configure -D$missing=OFF -DUPCONV_COMMAND=ON || fail "UPCONV_COMMAND=ON goes on without $missing"
    grep -q "libcjson-dev" log.txt || fail "it does not say what to install"
done
