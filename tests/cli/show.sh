#!/bin/sh
# list and show: every operator has its line, its page, a prototype that compiles, its problem file.
. "$(dirname "$0")/common.sh"

upconv 0 list
[ "$(wc -l <out)" = 5 ] || fail "list: not five lines"
awk 'NF < 3 { exit 1 }' out || fail "list: a line without words about its operator"
cut -d ' ' -f 1 out >slugs
upconv 0 list --chains
[ "$(grep -c '^f32 .*conv_transpose' out)" = 5 ] || fail "list --chains"
upconv 0 list --json
[ "$(grep -c '"slug"' out)" = 5 ] && [ "$(grep -c '"flops"' out)" = 5 ] || fail "list --json"
upconv 2 list everything
complains "one argument too many"

while read -r slug; do
    upconv 0 show "$slug"
    for text in "$slug" input output kernel "const float *" size_t in_channels "Default shape" GFLOP \
        Stages; do
        says "$text"
    done
    ! grep -q "$(printf '\033')" out || fail "$slug: colours in a pipe"
    [ "$(awk '{ if (length($0) > most) most = length($0) } END { print most }' out)" -le 90 ] ||
        fail "$slug: long lines" # awk may count bytes; of characters there are 80 at most
    upconv 0 show "$slug" --problem
    cmp out "$SOURCE/problems/$slug.md" || fail "$slug: not the file in problems/"
    cp out page.md
    upconv 0 show page.md
    cp out from-file
    upconv 0 show "$slug"
    cmp out from-file || fail "$slug: the page of the file is another"

    # The prototype compiles as it is, and agrees with the library's own for each element type.
    for dtype in f32 f64 f16 bf16; do
        upconv 0 show "$slug" --signature --dtype $dtype
        says "solution("
        cp out prototype.h
        function=uc_$(echo "$slug" | tr - _)_$dtype
        printf '#include <upconv.h>\n#include "prototype.h"\n' >agree.c
        sed -e "s/^void solution(/uc_status $function(/" -e '/^#/d' out >>agree.c
        "$CC" -std=c11 -Wall -Wextra -Wpedantic -Werror -I"$SOURCE/include" -I. -fsyntax-only agree.c ||
            fail "$slug $dtype: not the library's parameters"
    done
    upconv 0 show "$slug" --json
    for key in slug title difficulty author tags dtype parameters chain flops signature text problem; do
        says "\"$key\":"
    done
done <slugs

# The numbers of the specification.
gflop() {
    upconv 0 show "conv-transpose$1"
    says "$2 GFLOP"
}
gflop 3d-avgpool-clamp-softmax-multiply 55.6
gflop 3d-max-max-sum 216.8
gflop 3d-sum-layernorm-avgpool-gelu 55.6
gflop 2d-softmax-biasadd-scaling-sigmoid 136.4
gflop 3d-layernorm-gelu-scaling 129.0

# As wide as the terminal says.
COLUMNS=60 "$UPCONV" show conv-transpose3d-max-max-sum >out
awk '/^Parameters/ { exit } length($0) > 66 { exit 1 }' out || fail "wider than 60 columns"

# Colours on a terminal, and never with NO_COLOR; as wide as it is.
if command -v script >/dev/null; then
    slug=conv-transpose3d-max-max-sum
    on_terminal() {
        env -u NO_COLOR -u COLUMNS TERM=xterm "$@" script -qec \
            "stty cols 70 && '$UPCONV' show $slug" /dev/null </dev/null | tr -d '\r' >out
        says "$slug"
    }
    escape=$(printf '\033')
    on_terminal
    grep -q "$escape" out || fail "no colours on a terminal"
    sed "s/$escape\[[0-9;]*m//g" out >plain
    awk '/^Parameters/ { exit } length($0) > 76 { exit 1 }' plain || fail "wider than the terminal"
    grep -qE '.{61}' plain || fail "narrower than the terminal"
    on_terminal NO_COLOR=1
    ! grep -q "$escape" out || fail "colours with NO_COLOR"
fi

upconv 2 show
complains "which operator?"
upconv 2 show conv-transpose3d-max-max-sun
complains "did you mean 'conv-transpose3d-max-max-sum'?"
upconv 2 show conv-transpose3d-max-max-sum --signature --problem
complains "not both"
upconv 2 show conv-transpose3d-max-max-sum --dtype f23
complains "f32, f64, f16 or bf16"
upconv 2 show conv-transpose3d-max-max-sum --signatur=x
upconv 2 show a b
