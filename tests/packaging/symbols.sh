#!/bin/sh
# The shared library exports exactly what the header declares, and every global name of the static
# library starts with uc_, so that neither can clash with a program's own names.
. "$(dirname "$0")/common.sh"
need nm

# "UC_API type name(" may be spread over lines.
tr '\n' ' ' <"$SOURCE/include/upconv.h" | grep -o 'UC_API [^;(]*(' | grep -o 'uc_[a-z0-9_]*($' |
    tr -d '(' | sort >declared.txt
[ "$(wc -l <declared.txt)" -ge 20 ] || fail "found too few functions in upconv.h; is this test right?"

nm -D --defined-only "$BUILD/libupconv.so" | awk '{ print $NF }' | sort >exported.txt
if ! diff declared.txt exported.txt >difference.txt; then
    sed -n -e 's/^< /declared in upconv.h but not exported: /p' \
        -e 's/^> /exported but not declared in upconv.h: /p' difference.txt
    fail "libupconv.so and upconv.h differ"
fi

nm -g --defined-only "$BUILD/libupconv.a" | awk 'NF == 3 { print $3 }' | sort >global.txt
[ "$(wc -l <global.txt)" -ge "$(wc -l <declared.txt)" ] || fail "libupconv.a lacks functions"
if grep -v '^uc_' global.txt; then
    fail "global names in libupconv.a that don't start with uc_ (above): make them static"
fi
echo "$(wc -l <exported.txt) functions exported, $(wc -l <global.txt) global names, all right"
