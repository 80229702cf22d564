#!/bin/sh
# The README's example does what the README says: its first C block, compiled by its first line that
# starts with cc, against an installation as its reader has one.
. "$(dirname "$0")/common.sh"
need cc pkg-config

# Somewhere without a space in the path: $(pkg-config ...) as people write it can't have one.
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
cmake --install "$BUILD" --prefix "$prefix" >/dev/null
pc=$(find "$prefix" -name upconv.pc)
PKG_CONFIG_PATH=$(dirname "$pc")
LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH")
export PKG_CONFIG_PATH LD_LIBRARY_PATH

command=$(sed -n 's/^ *\$\{0,1\} *\(cc .*\.c .*\)/\1/p' "$SOURCE/README.md" | head -n 1)
[ -n "$command" ] || fail "README.md has no line that starts with: cc example.c"
file=$(echo "$command" | grep -o '[a-z_0-9]*\.c ' | tr -d ' ')
sed -n '/^```c$/,/^```$/ { /^```$/q; /^```c$/d; p }' "$SOURCE/README.md" >"$file"
[ -s "$file" ] || fail "README.md has no C block"

echo "$file:"
cat "$file"
echo "$command"
sh -c "$command -Wall -Wextra -Wpedantic -Werror"
./"${file%.c}"
