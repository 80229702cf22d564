#!/bin/sh
# The man page is right; it and all completions know every subcommand and every option that the help
# knows, and none that the command does not.
. "$(dirname "$0")/common.sh"

page=$SOURCE/man/upconv.1
if command -v mandoc >/dev/null; then
    mandoc -T lint -W warning "$page" || fail "mandoc has complaints (above)"
    mandoc -T ascii -O width=100 "$page" | col -b >page.txt
elif command -v man >/dev/null; then
    MANWIDTH=100 man -l --warnings -P cat "$page" 2>warnings.txt | col -b >page.txt
    [ ! -s warnings.txt ] || fail "man has complaints: $(cat warnings.txt)"
else
    skip "neither mandoc nor man here to set the page"
fi

# section SUBCOMMAND: what the page says about it
section() {
    awk -v name="upconv $1" '/^ *[A-Z]|^   [a-z]/ && !/^     / { on = 0 } { line = $0; sub(/^ */, "", line) }
        line == name && !/^     / { on = 1 } on' page.txt
}
# options_in: the options that lines of help begin with
options_in() {
    sed -n 's/^  *\(-o, \)\{0,1\}\(--[a-z].*\)/\2/p' | sed 's/   *.*//' | grep -o -- '--[a-z][a-z_-]*' | sort -u
}
# completed SHELL SUBCOMMAND: the options that a completion has for it
completed() {
    case $1 in
    bash)
        # shellcheck disable=SC2016
        bash -c '. "$1"; COMP_WORDS=(upconv "$2" --); COMP_CWORD=2; _upconv
            printf "%s\n" "${COMPREPLY[@]}"' bash "$SOURCE/completions/upconv.bash" "$2"
        ;;
    fish)
        PATH=$BUILD:$PATH HOME=$WORK fish --no-config -c \
            'source $argv[1]; complete -C "upconv $argv[2] --"' "$SOURCE/completions/upconv.fish" "$2" |
            cut -f 1
        ;;
    zsh)
        # The shell's own functions only hear what they are told to offer.
        # shellcheck disable=SC2016
        zsh -f -c '_arguments() { print -l -- "$@" }; _describe() { :; }; words=(upconv $2 --)
            CURRENT=3; source $1' zsh "$SOURCE/completions/_upconv" "$2" |
            grep -o -- '--[a-z][a-z_-]*[=[]' | tr -d '=['
        ;;
    esac | grep '^--' | sort -u
}

shells=
for shell in bash fish zsh; do
    ! command -v $shell >/dev/null || shells="$shells $shell"
done

"$UPCONV" --help | sed -n 's/^  \([a-z]\{1,\}\)  .*/\1/p' >subcommands
[ "$(wc -l <subcommands)" -ge 10 ] || fail "found too few subcommands in the help"
checked=0
while read -r subcommand; do
    "$UPCONV" "$subcommand" --help </dev/null >help.txt
    options_in <help.txt >options.txt
    grep -qx -- --help options.txt && grep -qx -- --json options.txt || fail "$subcommand: its help"
    grep -qF "upconv $subcommand" page.txt || fail "$subcommand: not in the man page"
    section "$subcommand" >section.txt
    [ -s section.txt ] || fail "$subcommand: no section in the man page"
    for option in $(grep -vx -e --help -e --json options.txt); do
        grep -q -- "$option\([^a-z_-]\|$\)" section.txt ||
            fail "$subcommand $option: not in its section of the man page"
        checked=$((checked + 1))
    done
    : >offered.txt
    for shell in $shells; do
        completed $shell "$subcommand" >completed.txt </dev/null
        ! comm -23 options.txt completed.txt | grep . ||
            fail "$subcommand: the completion for $shell lacks options (above)"
        cat completed.txt >>offered.txt
    done
    # Whatever is offered is known (help need not name each: --stride_d); no call gets beyond its
    # options here.
    while read -r option; do
        upconv 2 "$subcommand" "$option" x --no-such-option </dev/null
        ! grep -qF "unknown option '$option'" err || fail "$subcommand $option: offered and not known"
    done <<LIST
$(grep -vx -- --help offered.txt | sort -u)
LIST
    # Every option that begins a paragraph of the section is one.
    sed -n 's/^     \(-o [a-z.]*, \)\{0,1\}\(--[a-z].*\)/\2/p' section.txt |
        grep -o -- '--[a-z][a-z_-]*' | sort -u >told.txt
    sort -u offered.txt >offered-sorted.txt
    ! comm -23 told.txt offered-sorted.txt | grep . || fail "$subcommand: the man page has more options (above)"
done <subcommands
[ $checked -ge 50 ] || fail "only $checked options looked at"
echo "$checked options in the man page and for$shells"
