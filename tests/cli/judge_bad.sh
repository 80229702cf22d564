#!/bin/sh
# Solutions that misbehave: each is rejected with the right verdict, and the judge goes on.
. "$(dirname "$0")/common.sh"

slug=conv-transpose3d-max-max-sum
solutions=$SOURCE/tests/cli/solutions
upconv 0 init $slug starter
cp starter/solution.c right.c

# behaves HOW VERDICT TEXT [OPTIONS...]: one test of a solution that misbehaves so
behaves() {
    how=$1 verdict=$2 text=$3
    shift 3
    code=1
    [ "$verdict" != accepted ] || code=0
    upconv $code judge $slug "$solutions/behaviour.c" --quick --case signed \
        --cflags "-I. -w -O1 -fno-inline -fstack-protector-all -pthread -DHOW=$how" "$@"
    says "verdict: $verdict"
    says "$text"
    if [ $code = 1 ]; then
        says "again: $UPCONV judge $slug $solutions/behaviour.c --case signed --seed "
    fi
}

behaves NOTHING accepted "ok"
behaves CRASH crash "used a null pointer"
behaves CRASH_IN_THREAD crash "used a null pointer"
behaves ABORT crash "SIGABRT"
behaves FAULTY_DIVISION crash "SIGFPE"
behaves HANG hang "no answer within 0.5 s" --time-limit 0.5
behaves LOOP hang "no answer within 0.5 s" --time-limit 0.5
behaves EXIT exited "exit code 0"
behaves EXIT_WITH_7 exited "exit code 7"
behaves SMASH_STACK crash "smashed its stack"
behaves OVERFLOW_STACK crash "SIGSEGV"
behaves WRITE_PAST_END "out of bounds" "past the end of 'output'"
behaves WRITE_BEFORE_START "out of bounds" "'output'"
behaves WRITE_NEAR_END "out of bounds" "call 2 wrote outside 'output', into the bytes behind it"
behaves READ_PAST_END "out of bounds" "past the end of 'input'"
behaves WRITE_INPUT "changed its input" "wrote to its const input 'kernel'"
behaves ADD_TO_OUTPUT "wrong answer" "hint: all NaN"
behaves PREVIOUS_ANSWER "wrong answer" "hint: this is what the call before should have given"
behaves CHEAT_AFTER_2 "wrong answer" "in call 3 of 3"
behaves LEAK_THREADS "leaked threads" "3 after the second, 4 after the third"
behaves CLOSE_FILES exited "exit code"
behaves FORGE_RECORDS exited "exit code 0"
behaves PRINT accepted "| a word from the solution"
says "| an error from the solution?[2J"
behaves FLOOD accepted "bytes more)"
if [ "$(uname -m)" = x86_64 ]; then
    behaves WANT_ALIGNMENT crash "tensors have the alignment of their elements"
fi
# Standard input, output and error, and two pipes of the judge: nothing of what it was called with.
exec 7<"$SOURCE/LICENSE" 8>open-file 9<"$SOURCE/LICENSE"
behaves LIST_FILES accepted "| [0][1][2][4][5]"
exec 7<&- 8>&- 9<&-
behaves FORK accepted "ok"
# is_running WORDS: whether a process has that command line
is_running() {
    for process in /proc/[0-9]*; do
        if tr '\0' ' ' 2>/dev/null <"$process/cmdline" | grep -qF -- "$1"; then
            return 0
        fi
    done 2>/dev/null
    return 1
}
# is_gone WORDS: whether none has; one that was killed may take a moment for it
is_gone() {
    ! is_running "$1"
}
eventually "what the solution started is still there" is_gone "sleep 97531 "
case ${SANITIZE:-} in
'') behaves TOO_MUCH_MEMORY crash "the limit is 200 MiB" --memory-limit 200 ;;
esac

# The judge goes on with the next test, and every failure has a line that repeats it.
upconv 1 judge $slug "$solutions/behaviour.c" --quick --cflags "-I. -w -pthread -DHOW=CRASH"
tests=$("$UPCONV" judge $slug --list | grep -vc default-shape)
[ "$(grep -c 'again: ' out)" = "$tests" ] || fail "not every test was run"
says "$tests crash"
sed -n 's/^ *again: //p' out | head -n 1 >again.sh
code=0
sh again.sh >again.out 2>&1 || code=$?
[ $code = 1 ] || fail "the reproducer exits with $code"
grep -q "used a null pointer" again.out || fail "the reproducer says something else"

# After a few hangs the rest is not waited for.
upconv 1 judge $slug "$solutions/behaviour.c" --quick --time-limit 0.2 \
    --cflags "-I. -w -pthread -DHOW=LOOP"
says "verdict: hang"
says "5 hang,"
says "not run"

# Files that are no solutions.
upconv 2 judge $slug no-such-file.so
complains "no-such-file.so"
upconv 2 judge $slug .
complains "can't read '.'"
head -c 1000 /dev/urandom >garbage.so
upconv 1 judge $slug garbage.so --quick
says "verdict: does not load"
echo 'int x = ;' >broken.c
upconv 1 judge $slug broken.c
says "verdict: does not compile"
complains "broken.c:1"
upconv 1 judge $slug broken.c --json
says '"does not compile"'
echo 'void another(void) {}' >another.c
upconv 1 judge $slug another.c --quick
says "does not load"
says "no function of that name: solution"

# Right in all small tests, but too slow for the limit at the default shape.
upconv 1 judge $slug "$solutions/behaviour.c" --default-time-limit 0.5 \
    --cflags "-I. -w -pthread -DHOW=SLEEP_AT_DEFAULT_SHAPE"
says "verdict: too slow (right in the "
says "no answer within 0.5 s (--default-time-limit)"

# Interrupted, it leaves no process and no file: while it compiles (this compiler makes a file of its
# own, and waits),
mkdir temporary
cat >slow-cc <<'END'
#!/bin/sh
echo begun >"$TMPDIR/half-compiled.s"
sleep 86421
END
chmod +x slow-cc
TMPDIR=$PWD/temporary CC=$PWD/slow-cc "$UPCONV" judge $slug right.c >out 2>err &
judge=$!
compiles() {
    [ -n "$(find temporary -name half-compiled.s)" ]
}
eventually "it does not compile" compiles
kill -TERM $judge
wait $judge || :
[ -z "$(ls -A temporary)" ] || fail "left behind: $(find temporary)"
eventually "the compiler still runs" is_gone "sleep 86421 "
# and while it judges.
TMPDIR=$PWD/temporary "$UPCONV" judge $slug "$solutions/behaviour.c" --case signed --time-limit 60 \
    --symbol solution --cflags "-I. -w -pthread -DHOW=LOOP" >out 2>err &
judge=$!
eventually "it does not start" is_running "judge-child $PWD/temporary/"
kill -TERM $judge
code=0
wait $judge || code=$?
[ $code = 143 ] || fail "ended with $code by SIGTERM"
eventually "the solution still runs" is_gone "judge-child $PWD/temporary/"
[ -z "$(ls -A temporary)" ] || fail "left behind: $(ls temporary)"
