#!/bin/sh
# Sees to the Debian packages that a job needs: scripts/setup.sh run|test|lint
# Called by the Makefile before everything else; costs milliseconds when nothing is missing.
#
# Missing packages are installed when we are root. Otherwise the command to run is printed and the
# job goes on: the tools may be there by other means, and if they aren't, their absence will show.
set -eu

build="gcc libc6-dev cmake"
lint="clang-format cppcheck"
# g++, clang, libomp-dev, ninja-build: the compilers and generators the library must build with
# libclang-rt-dev: clang's ThreadSanitizer        pkgconf: the installed upconv.pc
# binutils: nm, for the symbols                   dpkg-dev, file: for the dependencies of the .deb
tests="g++ clang libomp-dev libclang-rt-dev ninja-build pkgconf binutils dpkg-dev file"

case "${1:-}" in
run) packages=$build ;;
lint) packages=$lint ;;
test) packages="$build $lint $tests" ;;
*)
    echo "usage: $0 run|test|lint" >&2
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
# shellcheck disable=SC2086 # one word per package
if ! { apt-get -qq update &&
    apt-get -qq -o DPkg::Lock::Timeout=600 install -y --no-install-recommends $missing; } </dev/null
then
    echo "setup: could not install them; going on without." >&2
fi
