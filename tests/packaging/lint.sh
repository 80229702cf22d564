#!/bin/sh
# Format and static analysis: what `make lint` does.
. "$(dirname "$0")/common.sh"
need clang-format cppcheck
exec "$SOURCE/scripts/lint.sh"
