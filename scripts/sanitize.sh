#!/bin/sh
# Builds the library and its tests with sanitizers in a folder of their own, and runs the tests:
#     scripts/sanitize.sh address|thread|thread-openmp FOLDER [LABEL]
# LABEL limits the run to the tests that carry it. Called by `make asan`, `make tsan` and by the
# tests packaging.asan and packaging.tsan-*.
set -eu
kind=$1
folder=$2
label=${3:-}
source=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$folder"

# Sanitizers keep their shadow memory at fixed addresses. Where the kernel spreads programs over
# more of the address space than they expect, they stop at the start: ask it not to, if we may.
fixed=
if setarch "$(uname -m)" -R true 2>/dev/null; then
    fixed="setarch $(uname -m) -R"
fi

# 256-bit kernels, where this CPU has them: the same source as the wider ones, which sanitizers would
# compile for many minutes. Threads never meet inside a kernel.
case $(grep -m1 '^flags' /proc/cpuinfo || true) in
*avx2*) isas=avx2 ;;
*) isas= ;;
esac

# Threads that wait for others sleep: there may be more of them than cores.
export OMP_WAIT_POLICY=passive

case $kind in
address)
    cc=gcc openmp=AUTO sanitizers="address;undefined"
    export ASAN_OPTIONS="detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1"
    export UBSAN_OPTIONS="print_stacktrace=1"
    bug='int main(int n, char **v) { char *p = malloc(4); (void)v; p[3 + n] = 1; return p[0]; }'
    ;;
thread)
    # Without OpenMP: the threads are the test's own, all of them seen by ThreadSanitizer.
    cc=clang openmp=OFF sanitizers=thread isas=
    bug='static int x; static void *f(void *p) { ++x; return p; }
         int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); ++x; return pthread_join(t, 0); }'
    ;;
thread-openmp)
    # gcc's libgomp synchronises by futexes that ThreadSanitizer can't see, so it would report races
    # that aren't there. LLVM's libomp tells it of every fork, join and barrier through the tool
    # Archer, which it loads by itself in a program with ThreadSanitizer; all that is left to say is
    # that libomp's own accesses don't count.
    cc=clang openmp=ON sanitizers=thread isas=
    export TSAN_OPTIONS="ignore_noninstrumented_modules=1"
    export OMP_NUM_THREADS=4
    bug='int main(void) { static int x[2];
         _Pragma("omp parallel for num_threads(4)") for (int i = 0; i < 9999; ++i) ++x[i % 2];
         return 0; }'
    ;;
*)
    echo "usage: $0 address|thread|thread-openmp FOLDER [LABEL]" >&2
    exit 2
    ;;
esac

# First a program with a bug: a sanitizer that doesn't see it would pass everything. A race is only
# seen when it happens, so there are a few tries.
echo "#include <pthread.h>
#include <stdlib.h>
$bug" >"$folder/bug.c"
flags="-g -O1 -fsanitize=$(echo "$sanitizers" | tr ';' ',')"
[ "$openmp" != ON ] || flags="$flags -fopenmp"
# shellcheck disable=SC2086 # one word per flag
$cc $flags "$folder/bug.c" -o "$folder/bug"
seen=no
for _ in 1 2 3 4 5; do
    $fixed "$folder/bug" >"$folder/bug.txt" 2>&1 || true
    if grep -Eq 'heap-buffer-overflow|ThreadSanitizer: data race' "$folder/bug.txt"; then
        seen=yes
        break
    fi
done
if [ $seen = no ]; then
    cat "$folder/bug.txt"
    echo "sanitize: $kind does not see the bug in $folder/bug.c"
    exit 1
fi

# -O1 keeps the reports readable; Debug keeps the assertions.
cmake -S "$source" -B "$folder" -DCMAKE_C_COMPILER=$cc -DCMAKE_BUILD_TYPE=Debug \
    -DCMAKE_C_FLAGS_DEBUG="-O1 -g" -DUPCONV_OPENMP=$openmp -DUPCONV_SANITIZE="$sanitizers" -DUPCONV_ISAS=$isas
cmake --build "$folder" -j 2
cd "$folder"
$fixed ctest --output-on-failure --no-tests=error ${label:+-L "$label"}
