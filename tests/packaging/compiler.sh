#!/bin/sh
# Libraries and command with another compiler: compiler.sh CC BUILD_TYPE OPENMP GENERATOR
# No warning is allowed, and the command must run.
. "$(dirname "$0")/common.sh"
cc=$1 type=$2 openmp=$3 generator=$4
need "$cc"
[ "$generator" != Ninja ] || need ninja

cmake -S "$SOURCE" -B . -G "$generator" -DCMAKE_C_COMPILER="$cc" -DCMAKE_BUILD_TYPE="$type" \
    -DUPCONV_OPENMP="$openmp" -DUPCONV_WERROR=ON -DBUILD_TESTING=OFF
cmake --build .
[ -e libupconv.so.0 ] || fail "no libupconv.so.0"
[ -e libupconv.a ] || fail "no libupconv.a"
./upconv --version
./upconv list
