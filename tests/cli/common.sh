# What the tests of the command share. Each starts with: . "$(dirname "$0")/common.sh"
# CTest says where things are; by hand they are where `make build` puts them.
set -eu

CDPATH= cd -- "$(dirname "$0")/../.."
SOURCE=$PWD
BUILD=${BUILD:-$SOURCE/build}
WORK=${WORK:-$BUILD/tests/cli/$(basename "$0" .sh)}
CC=${CC:-cc}
UPCONV=$BUILD/upconv
export CC

rm -rf "$WORK"
mkdir -p "$WORK"
cd "$WORK"

[ -x "$UPCONV" ] || {
    echo "there is no $UPCONV: build it first" >&2
    exit 1
}

fail() {
    echo "FAILED: $*" >&2
    for log in out err; do
        if [ -s "$log" ]; then
            echo "--- $log" >&2
            cat "$log" >&2
        fi
    done
    exit 1
}

# skip WHY: nothing here can be tested on this machine, which lacks a tool that scripts/setup.sh test
# installs. In CI that is a failure, so that nothing is left out unseen.
skip() {
    echo "skipped: $*"
    [ -z "${CI:-}" ] || exit 1
    exit 77
}

# eventually WHAT COMMAND...: waits until a command succeeds; WHAT is wrong if that takes 10 seconds
eventually() {
    wrong=$1 tries=0
    shift
    until "$@"; do
        tries=$((tries + 1))
        [ $tries -lt 200 ] || fail "$wrong"
        sleep 0.05
    done
}

# upconv CODE ARGUMENTS...: runs the command, keeps what it says in the files out and err, and
# insists on its exit code.
upconv() {
    expected=$1
    shift
    code=0
    "$UPCONV" "$@" >out 2>err </dev/null || code=$?
    [ "$code" = "$expected" ] || fail "upconv $*: exit code $code, not $expected"
}

# says TEXT, complains TEXT: the last run said that on standard output, on standard error
says() {
    grep -qF -- "$1" out || fail "standard output does not say: $1"
}
complains() {
    grep -qF -- "$1" err || fail "standard error does not say: $1"
}
