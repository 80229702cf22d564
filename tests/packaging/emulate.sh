#!/bin/sh
# The kernels of every instruction set, on any machine: compiled for the plainest CPU, where the
# compiler takes wide vectors apart and AMX's tiles are plain C, all of their lines run.
. "$(dirname "$0")/common.sh"
need "$CC"
case $(uname -m) in
x86_64) ;;
*)
    echo "skipped: there is nothing but portable kernels on $(uname -m)"
    exit 77
    ;;
esac

# 256-bit kernels run as they are wherever a CPU has AVX2: the other tests take them.
isas=avx512
grep -qw avx2 /proc/cpuinfo || isas="avx2 avx512"
cmake -S "$SOURCE" -B . -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS_RELEASE="-O1" \
    -DUPCONV_EMULATE=ON -DUPCONV_ISAS="$(echo $isas | tr ' ' ';')" -DUPCONV_WERROR=OFF
cmake --build . -j 2 --target check_kernels check_ops check_space check_math check_points \
    check_golden check_properties check_winograd check_accuracy check_amx

echo "== kernels"
for program in kernels ops space math points; do
    ./tests/check_$program >$program.txt || {
        cat $program.txt
        fail "check_$program"
    }
    cat $program.txt
    ! grep -q 'left out: this CPU' $program.txt || fail "check_$program left kernels out (above)"
done
echo "== amx"
./tests/check_amx >amx.txt || {
    cat amx.txt
    fail "check_amx"
}
cat amx.txt
grep -q '^AMX: here$' amx.txt || fail "no tiles were emulated"
for isa in $isas; do
    echo "== $isa"
    UPCONV_ISA=$isa ./tests/check_golden 3
    UPCONV_ISA=$isa ./tests/check_properties --count 100 --seed 2
    UPCONV_ISA=$isa ./tests/check_winograd
done
UPCONV_ISA=avx512 ./tests/check_accuracy # avx2 has the same sums
