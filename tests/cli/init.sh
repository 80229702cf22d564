#!/bin/sh
# upconv init: a starter that builds and says what to do next; nothing that is there is lost.
. "$(dirname "$0")/common.sh"
slug=conv-transpose3d-max-max-sum

upconv 0 init $slug deep/er/fast
says "wrote deep/er/fast/solution.c"
says "make -C deep/er/fast judge"
make -C deep/er/fast CC="$CC" CFLAGS="-O1 -Wall -Wextra -Wpedantic -Werror" >out 2>&1 || fail "make"
[ -s deep/er/fast/solution.so ] || fail "no solution.so"
grep -qF "upconv judge $slug" deep/er/fast/README.md || fail "README.md does not say how to judge"
[ "$(wc -l <deep/er/fast/README.md)" -le 12 ] || fail "README.md is long"
! grep -rq "@SLUG@\|@DTYPE@" deep || fail "a word was not replaced"

# make judge works where upconv is found.
sed 's/upconv judge/upconv judge --case signed/' deep/er/fast/Makefile >Makefile.one
PATH=$BUILD:$PATH make -C deep/er/fast -f "$PWD/Makefile.one" judge >out 2>&1 || fail "make judge"
says "verdict: accepted"

# The prototype is the operator's.
for each in $("$UPCONV" list | awk '{ print $1 }'); do
    upconv 0 init "$each" "$each"
    "$UPCONV" show "$each" --signature | sed 's/float/T/g; /^#/d; s/;$//' | tr -d ' \n' >prototype
    tr -d ' \n' <"$each/solution.c" | grep -qF -- "$(cat prototype)" || fail "$each: another prototype"
done

# Into the folder where one is, by default; in double.
mkdir here
cd here
"$UPCONV" init $slug --dtype f64 >../out 2>../err || fail "init here"
grep -qx '#define T double.*' solution.c || fail "not in double"
grep -q -- "--dtype f64" Makefile || fail "the Makefile judges another type"
cd ..

# What is there stays, unless told otherwise.
echo mine >here/solution.c
upconv 2 init $slug here
complains "--force"
[ "$(cat here/solution.c)" = mine ] || fail "the old file is gone"
upconv 0 init $slug here --force --json
says '"solution.c"'
grep -q "void solution" here/solution.c || fail "it was not replaced"

upconv 2 init
complains "which operator?"
upconv 2 init max-max-sum
complains "did you mean '$slug'?"
upconv 2 init $slug a b
complains "one argument too many"
upconv 2 init $slug --dtype f16
complains "f32 or f64"
echo >file
upconv 2 init $slug file
complains "file"
upconv 2 init $slug file/below
complains "file/below"
