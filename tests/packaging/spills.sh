#!/bin/sh
# The hot loops hold no spills: in the library as it was built, no innermost loop of the convolution
# or of Winograd's products touches the stack between its multiply-adds. One such access in twelve
# multiply-adds would cost a few percent, and nothing else would show it.
. "$(dirname "$0")/common.sh"
need objdump awk
case $(uname -m) in
x86_64) ;;
*)
    echo "skipped: the kernels looked at are those of x86-64"
    exit 77
    ;;
esac

# spills SOURCE BLOCK: no function for whole blocks of that many channels x vectors may have any,
# for float and for double, nor those for the few channels of a last layer; the others' are told.
spills() {
    object=$BUILD/CMakeFiles/upconv_objects.dir/src/kernels/$1.o
    [ -e "$object" ] || fail "no $object"
    objdump -d --no-show-raw-insn "$object" >disassembly.txt
    awk -v wanted='^(conv|conv_few|cast|toom)_[0-9]+x[0-9]+_f(32|64)' \
        -f "$SOURCE/tests/packaging/spills.awk" disassembly.txt >loops.txt
    checked=0 multiplies=0
    while read -r name loops fmas stack; do
        case $name in
        *_"$2"_f* | conv_4x3_f* | conv_3x4_f* | conv_1x8_f*)
            [ "$loops" -ge 1 ] || fail "$1: $name: no loop with multiply-adds; is this test right?"
            [ "$stack" = 0 ] || fail "$1: $name: $stack stack accesses beside $fmas multiply-adds"
            echo "$1: $name: $fmas multiply-adds in $loops loops, no spills"
            checked=$((checked + 1))
            case $name in toom_*) multiplies=$((multiplies + 1)) ;; esac
            ;;
        *)
            [ "$stack" = 0 ] || echo "$1: $name: $stack stack accesses beside $fmas multiply-adds"
            ;;
        esac
    done <loops.txt
    [ $checked -ge 8 ] || fail "$1: found $checked functions for blocks of $2, not eight or more"
    [ $multiplies = 2 ] || fail "$1: found $multiplies functions for products of $2, not two"
}
spills avx2.c 6x2
spills avx512.c 14x2
