#!/bin/sh
# The header compiles by itself in strict C11 and C++17, and the core in strict C11 without OpenMP,
# with both compilers and nothing but -I: no CMake, no definitions.
. "$(dirname "$0")/common.sh"
need gcc g++ clang clang++
warnings="-Wall -Wextra -Wpedantic -pedantic-errors -Werror"

echo '#include "upconv.h"' >only.c
cp only.c only.cpp
# The header must not lean on its own guard, nor on what was included before.
echo '#include "upconv.h"' >>only.c

# shellcheck disable=SC2086 # one word per flag
for compiler in gcc clang; do
    echo "$compiler: upconv.h as C11"
    $compiler -std=c11 $warnings -Wstrict-prototypes -fsyntax-only -I"$SOURCE/include" only.c
    echo "$compiler: the core as C11"
    find "$SOURCE/src" -name '*.c' ! -name '*.inc.c' -exec \
        $compiler -std=c11 $warnings -Wno-unknown-pragmas -fsyntax-only \
        -I"$SOURCE/include" -I"$SOURCE/src" {} +
done
# shellcheck disable=SC2086
for compiler in g++ clang++; do
    echo "$compiler: upconv.h as C++17"
    $compiler -std=c++17 $warnings -fsyntax-only -I"$SOURCE/include" only.cpp
done
