# Read by every script here: where things are, and how to fail or be skipped.
# CTest says which build to test and where to work; by hand it is build/ and a temporary folder:
#     tests/packaging/symbols.sh
# shellcheck shell=sh disable=SC2034
set -eu
SOURCE=$(cd "$(dirname "$0")/../.." && pwd)
BUILD=${BUILD:-$SOURCE/build}
WORK=${WORK:-$(mktemp -d)}
mkdir -p "$WORK"
cd "$WORK"

# Consumers are compiled by the compiler of the build: a static library with threads needs the
# OpenMP runtime of its compiler.
export CC="${CC:-cc}"
case $CC in
*clang*) export CXX=clang++ ;;
*) export CXX=c++ ;;
esac

# What we install must be found by what it says itself, not with the caller's help.
unset MAKEFLAGS LD_LIBRARY_PATH PKG_CONFIG_PATH CMAKE_PREFIX_PATH DESTDIR

fail() {
    echo "FAIL: $*"
    exit 1
}

# need TOOL...: skips the test when a tool is missing; in CI that is a failure, so that nothing is
# lost in silence.
need() {
    for tool in "$@"; do
        command -v "$tool" >/dev/null && continue
        echo "$tool is missing; scripts/setup.sh test tells what to install"
        [ -z "${CI:-}" ] || exit 1
        exit 77
    done
}
