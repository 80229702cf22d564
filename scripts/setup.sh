#!/bin/sh
# Sees to the Debian packages that a job needs: scripts/setup.sh run|test|lint|long|bench|peers
# Called by the Makefile before everything else; costs milliseconds when nothing is missing.
#
# Missing packages are installed when we are root. Otherwise the command to run is printed and the
# job goes on: the tools may be there by other means, and if they aren't, their absence will show.
set -eu

# libyaml-dev, libcjson-dev: for the command, not the library
build="gcc libc6-dev cmake libyaml-dev libcjson-dev"
lint="clang-format cppcheck"
# g++, clang, libomp-dev, ninja-build: the compilers and generators the library must build with
# libclang-rt-dev: clang's ThreadSanitizer        pkgconf: the installed upconv.pc
# binutils: nm, objdump                           dpkg-dev, file: for the dependencies of the .deb
# locales: the source of one with a decimal comma chromium, fonts-dejavu-core: to look at reports
# mandoc: checks the man page                     zsh, fish: their completions (bash is there)
tests="g++ clang libomp-dev libclang-rt-dev ninja-build pkgconf binutils dpkg-dev file locales
    chromium fonts-dejavu-core mandoc zsh fish"
# The long tests run programs for arm64 too.
long="gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user"
# g++: PyTorch compiles with it                   binutils: readelf, for torch without CUDA
# libdnnl-dev: an old oneDNN, for where the newer ones don't run
peers="python3 python3-venv g++ binutils libdnnl-dev"

case "${1:-}" in
run) packages=$build ;;
lint) packages=$lint ;;
bench) packages=$build ;;
peers) packages="$build $peers" ;;
test) packages="$build $lint $tests" ;;
long) packages="$build $lint $tests $long" ;;
*)
    echo "usage: $0 run|test|lint|long|bench|peers" >&2
    exit 2
    ;;
esac

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "setup: not a Debian system; going on with the tools there are." >&2
    echo "setup: Debian's names of what is needed: $packages" >&2
    exit 0
fi

missing=
for package in $packages; do
    dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed ||
        missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" != 0 ]; then
    echo "setup: some packages are missing. To install them:" >&2
    echo "    sudo apt-get install --no-install-recommends$missing" >&2
    echo "setup: going on without." >&2
    exit 0
fi

echo "setup: installing$missing"
export DEBIAN_FRONTEND=noninteractive
# Somebody else's apt-get may hold the lists for a while; only the packages' lock can be waited for.
update() {
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do
        apt-get -qq update && return
        sleep 5
    done
    return 1
}
# shellcheck disable=SC2086 # one word per package
if ! { update &&
    apt-get -qq -o DPkg::Lock::Timeout=600 install -y --no-install-recommends $missing; } </dev/null
then
    echo "setup: could not install them; going on without." >&2
fi
