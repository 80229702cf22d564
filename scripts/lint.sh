#!/bin/sh
# Format and static analysis of every C and C++ file, with no warning allowed.
# Called by `make lint` and by the test packaging.lint.
set -eu
cd "$(dirname "$0")/.."

echo "clang-format: as .clang-format says"
find include src cli tests bench \( -name '*.c' -o -name '*.h' -o -name '*.cpp' \) -exec \
    clang-format --dry-run -Werror {} +

echo "cppcheck: warnings, performance, portability"
# The *.inc.c files are looked at where they are included. What was analysed and has not changed
# is remembered in the build folder.
mkdir -p build/cppcheck
find src cli tests bench -name '*.c' ! -name '*.inc.c' -print | cppcheck --file-list=- \
    --enable=warning,performance,portability --inline-suppr --error-exitcode=1 --quiet \
    --std=c11 -I include -I src -I cli -I tests --cppcheck-build-dir=build/cppcheck -j 2
echo "no complaints"
