#!/bin/sh
# The sources as a part of another project, through add_subdirectory (as FetchContent does).
. "$(dirname "$0")/common.sh"
need "$CC" "$CXX"
cmake -S "$SOURCE/tests/packaging/consumer" -B . -DUPCONV_SOURCE="$SOURCE" -DUPCONV_ISAS=avx2
cmake --build . -j 2
for program in c_upconv c_upconv_static cxx_upconv cxx_upconv_static; do
    ./$program
done
