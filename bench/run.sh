#!/bin/sh
# Runs the benchmark with the peers that are installed: bench/run.sh BUILD [OPTIONS of bench...]
# Called by `make bench`.
set -eu
build=$(cd "$1" && pwd)
shift
found=$("$(dirname "$0")/find-peers.sh" "$build")
while read -r command; do
    [ -z "$command" ] || set -- "$@" --peer "$command"
done <<COMMANDS
$found
COMMANDS
exec "$build/bench/bench" "$@"
