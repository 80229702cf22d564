#!/bin/sh
# Problem files: the five of ours are right, and what is wrong with others is told with its line.
. "$(dirname "$0")/common.sh"

slug=conv-transpose3d-max-max-sum
good=$SOURCE/problems/$slug.md

# ---- Ours -----------------------------------------------------------------------------------
count=0
for file in "$SOURCE"/problems/*.md; do
    upconv 0 show "$file"
    says "$(basename "$file" .md)"
    count=$((count + 1))
done
[ $count = "$("$UPCONV" list | wc -l)" ] || fail "$count problem files"

# The same in other clothes: flow style, plain words, comments, CRLF, a BOM, `const` for a size.
awk '{ printf "%s\r\n", $0 }' "$good" >crlf.md
upconv 0 show crlf.md
{ printf '\357\273\277' && cat "$good"; } >bom.md
upconv 0 show bom.md
sed -e 's/"true"/true/; s/"false"/false/' -e 's/constant:/const:/' -e '2i # a comment' "$good" >plain.md
upconv 0 show plain.md
awk '/^  - name/ { n = $3 } /^    type/ { t = $2 } /^    pointer/ { p = $2 }
    /^    const/ { printf "  - {name: %s, type: %s, pointer: %s, %s %s}\n", n, t, p, $1, $2; next }
    !/^  - name|^    (type|pointer)/' "$good" >flow.md
grep -q '^  - {name' flow.md || fail "the test's own file is wrong"
upconv 0 show flow.md
"$UPCONV" show - <"$good" >out || fail "from standard input"
says "$slug"

# ---- Broken ones ----------------------------------------------------------------------------
broken=0
# wrong FILE LINE TEXT: exit code 2 and a message that begins with the file and the line
wrong() {
    upconv 2 show "$1"
    [ ! -s out ] || fail "$1: something on standard output"
    [ "$(wc -l <err)" = 1 ] || fail "$1: not one line"
    grep -q "^upconv: $1:$2: " err || fail "$1: the message is not about line $2"
    complains "$3"
    broken=$((broken + 1))
}
# edit FILE SED...: a copy of a good file, edited; it must have changed
edit() {
    file=$1
    shift
    sed "$@" "$good" >"$file"
    ! cmp -s "$file" "$good" || fail "$file: sed changed nothing"
}
# line_of FILE PATTERN: of the first such line; end_of FILE: of the one that ends the front matter
line_of() {
    grep -n -- "$2" "$1" | head -n 1 | cut -d: -f1
}
end_of() {
    awk '/^---$/ && ++n == 2 { print NR }' "$1"
}

edit slug.md '/^slug/s/max-max/mux-max/'
wrong slug.md 2 "did you mean '$slug'?"
edit other-slug.md '/^slug/s/".*"/"conv-transpose3d-layernorm-gelu-scaling"/'
wrong other-slug.md "$(line_of other-slug.md conv_bias)" "parameter 3 is 'conv_bias', but that of"
edit nonsense.md '/^slug/s/".*"/"matmul"/'
wrong nonsense.md 2 "no operator 'matmul'"
edit type.md '/name: "stride_h"/,/type/s/size_t/quaternion/'
wrong type.md "$(line_of type.md stride_h)" "unknown type 'quaternion'"
edit other-type.md '/name: "stride_h"/,/type/s/size_t/double/'
wrong other-type.md "$(line_of other-type.md stride_h)" "type double, but in $slug it has size_t"
edit twice.md 's/"kernel_h"/"kernel_d"/'
wrong twice.md $(($(line_of twice.md kernel_d) + 4)) "'kernel_d' is here twice"
edit swapped.md 's/"kernel_h"/"tmp"/; s/"kernel_w"/"kernel_h"/; s/"tmp"/"kernel_w"/'
wrong swapped.md "$(line_of swapped.md kernel_w)" "that of $slug is 'kernel_h'"
edit short.md '/name: "padding_w"/,/constant/d'
wrong short.md "$(line_of short.md '^parameters')" "18 parameters, but $slug has 19: the next is 'padding_w'"
edit long.md '/^parameters/,/^---/s/^---/  - {name: "more", type: "size_t"}\n---/'
wrong long.md "$(line_of long.md more)" "one too many"
edit pointer.md '/name: "output"/,/pointer/s/"true"/"false"/'
wrong pointer.md "$(line_of pointer.md '"output"')" "is a pointer"
edit const.md '/name: "output"/,/const:/s/const: "false"/const: "true"/'
wrong const.md "$(line_of const.md '"output"')" "'output' is not const"
edit not-const.md '/name: "kernel"/,/const:/s/const: "true"/const: "false"/'
wrong not-const.md "$(line_of not-const.md '"kernel"')" "'kernel' is const"
edit boolean.md '/name: "input"/,/pointer/s/"true"/"yes"/'
wrong boolean.md 10 '"true" or "false", not '
edit key.md 's/^difficulty/dificulty/'
wrong key.md 4 "did you mean 'difficulty'?"
edit parameter-key.md '0,/pointer:/s/pointer:/shape:/'
wrong parameter-key.md 10 "unknown key 'shape'"
edit key-twice.md 's/^author.*/&\n&/'
wrong key-twice.md 6 "the key 'author' is here for the second time"
edit no-title.md '/^title/d'
wrong no-title.md "$(end_of no-title.md)" "without the key 'title'"
edit no-name.md -e '0,/- name:/{/- name:/d}' -e '0,/    type/s/    type/  - type/'
wrong no-name.md 8 "without a 'name'"
edit list.md '/^title/s/".*"/["a", "b"]/'
wrong list.md 3 "title must be a text, not a list"
edit text.md '/^tags/s/\[.*/"one"/'
wrong text.md 6 "tags must be a list, not a text"
edit mapping.md '/^tags/s/\[.*/[{a: b}]/'
wrong mapping.md 6 "a tag must be a text, not a mapping"
edit empty.md '/^title/s/".*"/""/'
wrong empty.md 3 "title is empty"
edit escape.md '/^title/s/".*"/"\\e[31mred"/'
wrong escape.md 3 "title holds a control character"
edit tag.md '/^title/s/".*"/!!binary "aGVsbG8="/'
wrong tag.md 3 "YAML tags"
edit unclosed.md '/^title/s/"$//'
upconv 2 show unclosed.md
grep -q '^upconv: unclosed.md:[0-9]*: ' err || fail "unclosed.md"
broken=$((broken + 1))
edit tab.md '/^slug/s/^/\t/'
wrong tab.md 2 "found character that cannot start any token"
edit both.md '0,/    const: "true"/s//    const: "true"\n    constant: "true"/'
wrong both.md 8 "which are the same"

# Anchors and aliases, also a bomb of them.
edit anchor.md '/^title/s/"/\&t "/'
wrong anchor.md 3 "anchors and aliases ('t')"
{
    echo ---
    echo 'slug: &a ["x", "x", "x", "x", "x", "x", "x", "x", "x"]'
    previous=a
    for name in b c d e f g h i; do
        echo "$name: &$name [*$previous, *$previous, *$previous, *$previous, *$previous, *$previous]"
        previous=$name
    done
    echo ---
} >bomb.md
wrong bomb.md 2 "anchors and aliases ('a')"

# No front matter, half of it, none inside.
printf '# A title\n\nText.\n' >markdown.md
wrong markdown.md 1 "begins with a line '---'"
: >nothing.md
wrong nothing.md 1 "begins with a line '---'"
printf -- '---\nslug: "x"\n' >half.md
wrong half.md 3 "the file ends before the line '---'"
printf -- '---\n---\ntext\n' >hollow.md
wrong hollow.md 1 "the front matter is empty"
printf -- '---\njust words\n---\n' >words.md
wrong words.md 2 "must be a mapping"
awk '/^---$/ && ++n == 2 { print "...\n--- x" } { print }' "$good" >two.md
wrong two.md $(($(end_of "$good") + 1)) "a second YAML document"

# Binary, not UTF-8, deep, long, huge.
{ head -n 3 "$good" && printf 'author: "a\000b"\n' && tail -n +4 "$good"; } >nul.md
wrong nul.md 4 "a NUL byte"
{ cat "$good" && printf 'caf\351\n'; } >latin1.md
wrong latin1.md "$(wc -l <latin1.md | tr -d ' ')" "not UTF-8"
{ cat "$good" && printf '\033[2J\n'; } >control.md
wrong control.md "$(wc -l <control.md | tr -d ' ')" "a control character"
head -c 4096 "$UPCONV" >elf.md
wrong elf.md 1 "this is no text file"
{
    printf -- '---\nslug: '
    awk 'BEGIN { while (i++ < 200000) printf "[" }'
    printf '\n---\n'
} >deep.md
wrong deep.md 2 "slug must be a text, not a list"
{
    printf -- '---\nparameters:\n'
    awk 'BEGIN { while (i++ < 1000) printf "  - {name: \"p%d\", type: \"size_t\"}\n", i }'
    printf -- '---\n'
} >many.md
wrong many.md 67 "more than 64 parameters"
{
    cat "$good"
    awk 'BEGIN { while (i++ < 300000) print "A line of forty characters, give or take." }'
} >huge.md
upconv 2 show huge.md
grep -q '^upconv: huge.md:[0-9][0-9]*: .*too large' err || fail "huge.md"
broken=$((broken + 1))
head -c 10000000 /dev/urandom >garbage.md
upconv 2 show garbage.md
grep -q '^upconv: garbage.md:[0-9][0-9]*: ' err || fail "garbage.md"
broken=$((broken + 1))

# What is not a file at all.
upconv 2 show missing.md
complains "missing.md: No such file"
mkdir folder.md
upconv 2 show folder.md
complains "folder.md: Is a directory"

# judge refuses them just so.
upconv 2 judge --problem type.md solution.c
complains "type.md:$(line_of type.md stride_h): "
upconv 2 judge --problem bomb.md solution.c
complains "bomb.md:2: "

[ $broken -ge 30 ] || fail "only $broken broken files"
echo "$count good problem files, $broken broken ones"
