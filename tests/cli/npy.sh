#!/bin/sh
# Broken .npy files: each is refused with a message that says what is wrong, exit code 2, and no
# output. Files that are merely unusual are read.
. "$(dirname "$0")/common.sh"
npy=$BUILD/tests/cli/npy-tool

chain="f32 1x2x3, conv_transpose 1 kernel 1"
"$npy" make kernel.npy '<f4' '(2, 1, 1)'
"$npy" make good.npy '<f4' '(1, 2, 3)'
upconv 0 run "$chain" --input good.npy --kernel kernel.npy --output y.npy
rm y.npy

count=0
# refused FILE WHAT: as the input
refused() {
    upconv 2 run "$chain" --input "$1" --kernel kernel.npy --output y.npy
    complains "$1 (input): "
    complains "$2"
    [ "$(wc -l <err)" = 2 ] || fail "$1: the message is not one line and a hint"
    [ ! -e y.npy ] || fail "$1: there is an output"
    [ -z "$(find . -name '.upconv-*')" ] || fail "$1: a temporary file is left"
    ! grep -q 'Sanitizer\|runtime error' err || fail "$1: a sanitizer has complained"
    count=$((count + 1))
}

# header WHAT [VERSION] [BYTES]: reads the header from standard input
header() {
    text=$(cat)
    "$npy" raw broken.npy "${2:-1}" "$text
" "${3:-24}"
    refused broken.npy "$1"
}

# ---- Not such a file at all
refused missing.npy "No such file"
mkdir folder.npy
refused folder.npy "not a regular file"
mkfifo pipe.npy
refused pipe.npy "not a regular file"
: >empty.npy
refused empty.npy "it is empty"
printf 'x' >one.npy
refused one.npy "not a .npy file"
printf '\223NUMPX\001\000v\000{}' >magic.npy
refused magic.npy "not a .npy file"
printf 'PK\003\004 this would be an .npz' >zip.npy
refused zip.npy "not a .npy file"
head -c 10485760 /dev/urandom >garbage.npy
refused garbage.npy "not a .npy file"
{ printf '\223NUMPY'; head -c 10485760 /dev/zero; } >zeros.npy
refused zeros.npy "version is 0.0"
{ printf '\223NUMPY\001\000v\000'; head -c 10485760 /dev/urandom; } >noise.npy
refused noise.npy "its header"

# ---- Cut off
printf '\223NUMPY' >cut.npy
refused cut.npy "cut off in its header"
printf '\223NUMPY\001\000v' >cut.npy
refused cut.npy "cut off in its header"
head -c 60 good.npy >cut.npy
refused cut.npy "cut off in its header"
head -c 151 good.npy >cut.npy
refused cut.npy "needs 24 bytes of data, and 23 are there"
head -c 128 good.npy >cut.npy
refused cut.npy "needs 24 bytes of data, and 0 are there"
{ cat good.npy; echo; } >long.npy
refused long.npy "1 bytes after the 24"

# ---- Versions and lengths
printf '\223NUMPY\004\000v\000{}              ' >version.npy
refused version.npy "version is 4.0"
printf '\223NUMPY\001\001v\000{}              ' >version.npy
refused version.npy "version is 1.1"
printf '\223NUMPY\002\000\377\377\377\377{}' >version.npy
refused version.npy "claims 4294967295 bytes"

# ---- The header
header "not a dictionary" </dev/null
header "not a dictionary" <<'H'
('<f4', False, (1, 2, 3))
H
header "no 'descr'" <<'H'
{'fortran_order': False, 'shape': (1, 2, 3)}
H
header "no 'fortran_order'" <<'H'
{'descr': '<f4', 'shape': (1, 2, 3)}
H
header "no 'shape'" <<'H'
{'descr': '<f4', 'fortran_order': False}
H
header "'shape' twice" <<'H'
{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3), 'shape': (1, 2, 3)}
H
header "unknown key 'extra'" <<'H'
{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3), 'extra': 1}
H
header "keys and values" <<'H'
{'descr': '<f4' 'fortran_order': False, 'shape': (1, 2, 3)}
H
header "keys and values" <<'H'
{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3)
H
header "goes on after" <<'H'
{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3)} import os
H
header "'descr' is not a string" <<'H'
{'descr': '<f4\x00', 'fortran_order': False, 'shape': (1, 2, 3)}
H
header "Fortran order" <<'H'
{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2, 3)}
H
header "neither True nor False" <<'H'
{'descr': '<f4', 'fortran_order': 0, 'shape': (1, 2, 3)}
H

# ---- Element types
header "big-endian; convert it with x.astype('<f4')" <<'H'
{'descr': '>f4', 'fortran_order': False, 'shape': (1, 2, 3)}
H
header "Python objects" <<'H'
{'descr': '|O', 'fortran_order': False, 'shape': (1, 2, 3)}
H
header "structured array" <<'H'
{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1, 2, 3)}
H
header "'<i4' is not one of" <<'H'
{'descr': '<i4', 'fortran_order': False, 'shape': (1, 2, 3)}
H
header "'<c8' is not one of" <<'H'
{'descr': '<c8', 'fortran_order': False, 'shape': (1, 2, 3)}
H
header "no byte order" <<'H'
{'descr': '|f4', 'fortran_order': False, 'shape': (1, 2, 3)}
H
header "'' is not one of" <<'H'
{'descr': '', 'fortran_order': False, 'shape': (1, 2, 3)}
H

# ---- Shapes
header "negative size" <<'H'
{'descr': '<f4', 'fortran_order': False, 'shape': (1, -2, 3)}
H
header "tuple of whole numbers" <<'H'
{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2.0, 3)}
H
header "tuple of whole numbers" <<'H'
{'descr': '<f4', 'fortran_order': False, 'shape': (1 2 3)}
H
header "not a tuple" <<'H'
{'descr': '<f4', 'fortran_order': False, 'shape': [1, 2, 3]}
H
header "a number, not a tuple" <<'H'
{'descr': '<f4', 'fortran_order': False, 'shape': (6)}
H
header "too large for this machine" <<'H'
{'descr': '<f4', 'fortran_order': False, 'shape': (1, 99999999999999999999, 3)}
H
header "more elements than this machine" <<'H'
{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 4)}
H
header "more elements than this machine" <<'H'
{'descr': '<f4', 'fortran_order': False, 'shape': (0, 9223372036854775807, 3)}
H
header "more than 64 dimensions" <<'H'
{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}
H
awk 'BEGIN { printf "{\"descr\": \"<f4\", \"shape\": ("; while (n++ < 6000) printf "1,"; print ")}" }' >long-header
header "claims 12030 bytes" 2 <long-header

[ $count -ge 45 ] || fail "only $count broken files"

# ---- Unusual, but right: read as the same numbers
upconv 0 run "$chain" --input good.npy --kernel kernel.npy --output expected.npy
# as VERSION HEADER
as() {
    "$npy" raw unusual.npy "$1" "$2" 0
    tail -c 24 good.npy >>unusual.npy
    upconv 0 run "$chain" --input unusual.npy --kernel kernel.npy --output y.npy
    cmp -s y.npy expected.npy || fail "read differently: $2"
}
as 1 "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3), }"
as 1 "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3)}  " # misaligned by 1, 2, 3
as 1 "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3)}   "
as 1 "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3)}"
as 2 "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3), }"
as 3 "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3), }"
as 1 '{"shape":(1,2,3,),"fortran_order":False,"descr":"<f4"}'
as 1 "{ 'shape' : ( 1L , 2L , 3L ) ,
 'fortran_order' : False , 'descr' : '<f4' , }  "
echo "$count broken files"
