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
behaves WRITE_PAST_END "wrote outside" "past the end of 'output'"
behaves WRITE_BEFORE_START "wrote outside" "'output'"
behaves WRITE_NEAR_END "wrote outside" "call 2 wrote outside 'output', into the bytes behind it"
behaves READ_PAST_END "wrote outside" "past the end of 'input'"
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
behaves FORK accepted "ok"
! pgrep -f "sleep 97531" >/dev/null || fail "what the solution started is still there"
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
