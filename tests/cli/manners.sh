#!/bin/sh
# How the command behaves whatever the subcommand: help, exit codes, what was probably meant.
. "$(dirname "$0")/common.sh"

upconv 2
complains Usage
upconv 0 --help
says Example
says "Exit codes"
upconv 0 --version
grep -qx 'upconv [0-9]*\.[0-9]*\.[0-9]*' out || fail "the version"

# Every subcommand has help with an example, a --json it knows of, and answers bad options.
"$UPCONV" --help | sed -n 's/^  \([a-z]*\) .*/\1/p' >subcommands
[ -s subcommands ] || fail "no subcommands in the help"
while read -r subcommand; do
    upconv 0 "$subcommand" --help
    says "Usage: upconv $subcommand"
    says Example
    says --json
    upconv 2 "$subcommand" --no-such-option
    complains "unknown option"
    complains "upconv $subcommand --help"
    upconv 2 "$subcommand" --jsno
    complains "did you mean '--json'?"
done <subcommands

# A full disk is no success.
if [ -w /dev/full ]; then
    code=0
    "$UPCONV" show conv-transpose3d-max-max-sum >/dev/full 2>err || code=$?
    [ $code = 2 ] || fail "exit code $code with a full disk"
    complains "standard output: No space left"
fi

upconv 2 lsit
complains "did you mean 'list'?"
upconv 2 qwertyuiop
complains "no subcommand 'qwertyuiop'"
! grep -q "did you mean" err || fail "nothing is near that"

# Nothing that only terminals understand reaches a pipe.
upconv 0 --help
! grep -q "$(printf '\033')" out err || fail "colours in a pipe"
