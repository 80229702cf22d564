#!/bin/sh
# Libraries and command with another compiler: compiler.sh CC BUILD_TYPE OPENMP GENERATOR [ISA...]
# No warning is allowed, and the command must run.
. "$(dirname "$0")/common.sh"
cc=$1 type=$2 openmp=$3 generator=$4
shift 4
isas=$*
need "$cc"
[ "$generator" != Ninja ] || need ninja

cmake -S "$SOURCE" -B . -G "$generator" -DCMAKE_C_COMPILER="$cc" -DCMAKE_BUILD_TYPE="$type" \
    -DUPCONV_OPENMP="$openmp" -DUPCONV_WERROR=ON -DBUILD_TESTING=OFF \
    -DUPCONV_ISAS="$(echo "$isas" | tr ' ' ';')"
cmake --build .
[ -e libupconv.so.0 ] || fail "no libupconv.so.0"
[ -e libupconv.a ] || fail "no libupconv.a"
./upconv --version
./upconv list

# Kernels that this build has may still be more than this CPU can run.
for isa in avx2 avx512; do
    case $isas in
    *$isa*) continue ;;
    esac
    ! ./upconv plan conv-transpose3d-max-max-sum --isa $isa || fail "a plan with $isa all the same"
done
./upconv plan conv-transpose3d-max-max-sum >/dev/null
