#!/bin/sh
# Solutions that are right: naive loops (what `upconv init` writes) and a wrapper of our library.
# Both pass every test of every operator, with fresh data each time this runs.
. "$(dirname "$0")/common.sh"

library="-I$SOURCE/include -L$BUILD -Wl,-rpath,$BUILD -lupconv"

# wrapper SLUG DTYPE ELEMENT: a solution that calls the library
wrapper() {
    "$UPCONV" show "$1" --signature | sed "s/\\bfloat\\b/$3/g; s/;\$//"
    arguments=$("$UPCONV" show "$1" --signature | tr -d '\n' |
        sed 's/.*(//; s/).*//; s/const //g; s/, */,/g' | tr ',' '\n' | sed 's/.*[ *]//' | paste -sd, -)
    echo "{ uc_$(echo "$1" | tr - _)_$2($arguments); }"
}

"$UPCONV" list | awk '{ print $1 }' >slugs
[ "$(wc -l <slugs)" = 5 ] || fail "five operators"
other=
while read -r slug; do
    [ "$("$UPCONV" judge "$slug" --list | wc -l)" -ge 21 ] || fail "$slug: fewer than 20 cases"

    # The starter, built by its own Makefile.
    upconv 0 init "$slug" "$slug"
    make -s -C "$slug" CC="$CC" >make.out 2>&1 || fail "make: $(cat make.out)"
    upconv 0 judge "$slug" "$slug/solution.so" --quick --seed 1
    says "verdict: accepted"

    # The library, in float and, in turn, in the other types.
    case $other in
    "f64 double") other="f16 uint16_t" ;;
    "f16 uint16_t") other="bf16 uint16_t" ;;
    *) other="f64 double" ;;
    esac
    for type in "f32 float" "$other"; do
        dtype=${type% *}
        {
            echo '#include "upconv.h"'
            wrapper "$slug" "$dtype" "${type#* }"
        } >"wrapper.c"
        upconv 0 judge "$slug" wrapper.c --quick --seed 1 --dtype "$dtype" --cflags "$library"
        says "verdict: accepted"
    done
done <slugs

# The naive loops in double; a function of another name; one that returns a status.
slug=conv-transpose3d-sum-layernorm-avgpool-gelu
upconv 0 init $slug double --dtype f64
upconv 0 judge $slug double/solution.c --quick --seed 1 --dtype f64
says ", f64, strict"
sed 's/^void solution(/int other(/; s/^    free(conv);/&\n    return 0;/' $slug/solution.c >other.c
upconv 0 judge $slug other.c --quick --seed 1 --symbol other
says "verdict: accepted"

# The same seed is the same data, another is not; without one it is new each time.
upconv 0 judge $slug $slug/solution.so --case signed --seed 7
sed -n 's/.*\(error [^,]*\),.*/\1/p' out >first
upconv 0 judge $slug $slug/solution.so --test signed --seed 7
sed -n 's/.*\(error [^,]*\),.*/\1/p' out >second
cmp first second || fail "one seed, two results"
upconv 0 judge $slug $slug/solution.so --case signed
sed -n 's/.*seed \([0-9]*\),.*/\1/p' out >first
upconv 0 judge $slug $slug/solution.so --case signed
sed -n 's/.*seed \([0-9]*\),.*/\1/p' out >second
[ -s first ] || fail "no seed"
! cmp -s first second || fail "the same seed twice"

# The operator from a problem file.
"$UPCONV" show $slug --problem >problem.md
upconv 0 judge --problem problem.md $slug/solution.so --quick --seed 1
says "verdict: accepted"
sed 's/^slug: .*/slug: no-such-operator/' problem.md >other.md
upconv 2 judge --problem other.md $slug/solution.so --quick
complains "other.md:"

# Usage.
upconv 2 judge
complains "which operator?"
upconv 2 judge conv-transpose3d-max-max-sun x.so
complains "did you mean 'conv-transpose3d-max-max-sum'?"
upconv 2 judge $slug
complains "which solution?"
upconv 2 judge $slug a.so b.so
complains "one argument too many"
upconv 2 judge $slug $slug/solution.so --case singed
complains "did you mean 'signed'?"
upconv 2 judge $slug $slug/solution.so --mode lax
complains "strict or site"
upconv 2 judge $slug $slug/solution.so --time-limit 0
complains "--time-limit must be above 0"
upconv 2 judge $slug $slug/solution.so --seed x
complains "--seed takes a whole number"

# Nothing stays behind in the folder for temporary files.
mkdir -p temporary
TMPDIR=$PWD/temporary "$UPCONV" judge $slug $slug/solution.c --case signed >out 2>err || fail "TMPDIR"
[ -z "$(ls -A temporary)" ] || fail "left behind: $(ls temporary)"
