#!/bin/sh
# Completion for bash, and what can be asked of fish: subcommands, operators, values, files.
. "$(dirname "$0")/common.sh"
command -v bash >/dev/null || skip "no bash here to complete words in"

# completes WORDS...: fills out with what bash offers for the last word
completes() {
    # shellcheck disable=SC2016
    PATH=$BUILD:$PATH bash -c '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _upconv
        printf "%s\n" "${COMPREPLY[@]}"' "$SOURCE/completions/upconv.bash" "$@" >out 2>err ||
        fail "$*: bash failed"
    [ ! -s err ] || fail "$*: bash complained"
}
offers() {
    for word in "$@"; do
        grep -qx -- "$word" out || fail "it does not offer $word"
    done
}
only() {
    [ "$(cat out)" = "$1" ] || fail "it offers more or less than: $1"
}

touch x.npy results.json page.html task.md solution.c solution.so other.txt
mkdir folder

completes upconv ""
offers list show init run check judge bench plan cpu report --help --version
completes upconv re
only report
completes upconv show ""
offers conv-transpose3d-max-max-sum conv-transpose2d-softmax-biasadd-scaling-sigmoid task.md folder
completes upconv show conv-transpose3d-m
only conv-transpose3d-max-max-sum
completes upconv show --s
only --signature
completes upconv plan --dtype ""
offers f32 f64 f16 bf16
completes upconv plan --dtype = b
only bf16
completes upconv plan --isa =
offers auto portable avx2 avx512
completes upconv bench --algorithm ""
only "$(printf 'auto\ndirect\nwinograd')"
completes upconv run --accuracy ""
only "$(printf 'strict\nx3\nbf16')"
completes upconv judge ""
offers conv-transpose3d-max-max-sum
completes upconv judge conv-transpose3d-max-max-sum sol
only "$(printf 'solution.c\nsolution.so')"
completes upconv judge --dtype f64 conv-transpose3d-ma
only conv-transpose3d-max-max-sum
completes upconv judge --problem task.md solution.c
offers solution.c
completes upconv judge --mode ""
offers strict site
completes upconv judge --problem t
only task.md
completes upconv run conv-transpose3d-max-max-sum --input ""
only "$(printf 'x.npy\nfolder')"
completes upconv run conv-transpose3d-max-max-sum --scale
offers --scale
completes upconv report ""
only "$(printf 'results.json\nfolder')"
completes upconv report results.json -o p
only page.html
completes upconv bench --against r
only results.json
completes upconv bench --threads ""
only ""
completes upconv nonsense ""
only ""

# As it is installed: bash-completion loads a file by the command's name.
bash -c '. "$1" && complete -p upconv' bash "$SOURCE/completions/upconv.bash" >out
says "-F _upconv upconv"

if command -v fish >/dev/null; then
    asks() {
        PATH=$BUILD:$PATH HOME=$WORK fish --no-config -c 'source $argv[1]; complete -C $argv[2]' \
            "$SOURCE/completions/upconv.fish" "$1" 2>err | cut -f 1 >out
        [ ! -s err ] || fail "fish complained"
    }
    asks "upconv "
    offers list show init run check judge bench plan cpu report
    asks "upconv show conv-transpose3d-m"
    only conv-transpose3d-max-max-sum
    asks "upconv plan --isa "
    offers auto portable avx2 avx512
    asks "upconv report "
    offers results.json
    asks "upconv judge --mode s"
    offers strict site
fi
if command -v zsh >/dev/null; then
    zsh -n "$SOURCE/completions/_upconv" || fail "zsh can't read its file"
    head -n 1 "$SOURCE/completions/_upconv" | grep -qx '#compdef upconv' || fail "zsh would not load it"
fi
