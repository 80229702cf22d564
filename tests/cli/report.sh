#!/bin/sh
# report: the page of bench and judge results, as files and as a browser sees it.
. "$(dirname "$0")/common.sh"

data=$SOURCE/tests/cli/report

upconv 0 report "$data/bench.json" "$data/judge.json" -o page.html
says "page.html: 4 charts with 15 bars from 2 files"
[ "$(grep -o '<rect class="bar [a-z]*" data-kind' page.html | wc -l)" = 15 ] || fail "not 15 bars"
[ "$(ls)" = "$(printf 'err\nout\npage.html')" ] || fail "it left more than the page"
for text in '<!DOCTYPE html>' 'name="viewport"' 'prefers-color-scheme: dark' 'lang="en"' \
    'conv-transpose3d-max-max-sum' 'oneDNN 3.13 bare' 'Example CPU 9000 @ 2.70GHz' 'limit of direct arithmetic' \
    'looks like the max started at 0' 'at [0, 0, 1, 2, 3] expected -1.25, got 0' 'wrong answer' '20.4' '2026-11-15 12:34 UTC'; do
    grep -qF -- "$text" page.html || fail "the page lacks: $text"
done
! grep -Eq 'https?:|src=|@import' page.html || fail "the page wants something from elsewhere"

# Options: the default name, standard output, a title, JSON.
upconv 0 report "$data/bench.json"
[ -s report.html ] || fail "no report.html"
upconv 0 report --output=- "$data/judge.json" --title "Mine & <yours>"
says "<title>Mine &amp; &lt;yours&gt;</title>"
upconv 0 report "$data/judge.json" --json -o page.html
says '"bars":	3'
upconv 0 report "$data/judge.json" -o /dev/null

# What can't be made into a page: exit code 2, words that name the file, and the old page stays.
cp page.html before.html
broken=0
wrong() {
    upconv 2 report "$data/bench.json" "$1" -o page.html
    grep -qF -- "$1" err || fail "$1: its name is not in the message"
    complains "$2"
    cmp page.html before.html || fail "$1: the old page is gone"
    broken=$((broken + 1))
}
: >empty.json
wrong empty.json "empty.json:1: the file is empty"
head -c 1500 "$data/bench.json" >half.json
wrong half.json "this is not JSON"
{ cat "$data/judge.json" && echo '{}'; } >more.json
wrong more.json "this is not JSON"
head -c 100000 /dev/urandom >garbage.json
wrong garbage.json "this is not JSON"
awk 'BEGIN { while (i++ < 100000) printf "[" }' >deep.json
wrong deep.json "this is not JSON"
echo '{"name": "package", "version": "1.0"}' >other.json
wrong other.json "neither from 'upconv bench --json' nor from 'upconv judge --json'"
echo '[1, 2, 3]' >array.json
wrong array.json "neither from"
echo '{"kind": "bench", "results": []}' >none.json
wrong none.json "nothing to draw"
echo '{"kind": "bench"}' >nothing.json
wrong nothing.json "results is missing"
echo '{"kind": "bench", "results": [{"operator": "x", "min_ms": "fast"}]}' >text.json
wrong text.json "results[0].min_ms must be a number above 0"
echo '{"kind": "bench", "results": [{"operator": "x", "min_ms": 1e999}]}' >infinite.json
wrong infinite.json "results[0].min_ms must be a number above 0"
echo '{"kind": "bench", "results": [{"operator": "x", "min_ms": -1}]}' >negative.json
wrong negative.json "results[0].min_ms"
echo '{"kind": "bench", "results": [7]}' >seven.json
wrong seven.json "results[0]"
echo '{"kind": "bench", "results": [{"min_ms": 1}]}' >nameless.json
wrong nameless.json "neither operator nor chain"
echo '{"kind": "bench", "results": [{"operator": "x", "min_ms": 1, "peers": [{"min_ms": 2}]}]}' >peer.json
wrong peer.json "results[0].peers[0].name is missing"
echo '{"kind": "judge", "operator": "x", "solution": "y", "verdict": "accepted"}' >judge.json
wrong judge.json "tests is missing"
wrong missing.json "No such file"
mkdir folder.json
wrong folder.json "Is a directory"
upconv 2 report "$data/bench.json" -o no/such/folder/page.html
complains "no/such/folder/page.html: No such file"
upconv 2 report
complains "which results?"
upconv 2 report "$data/bench.json" --json -o -
complains "standard output"
[ -z "$(find . -name '.upconv-*')" ] || fail "temporary files stayed"
# A disk that is full is told of, and the old page stays.
if [ -w /dev/full ]; then
    upconv 2 report "$data/bench.json" -o /dev/full
    complains "/dev/full: No space left"
fi
echo "$broken broken files"

# ---- In a browser ---------------------------------------------------------------------------
for browser in chromium chromium-browser google-chrome none; do
    ! command -v $browser >/dev/null || break
done
[ $browser != none ] || skip "no Chromium here; scripts/setup.sh test installs it"

# browse OPTIONS... URL: headless, with whatever it says on standard error
browse() {
    timeout 120 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
        --hide-scrollbars --user-data-dir="$WORK/profile" --enable-logging=stderr \
        --allow-file-access-from-files "$@" 2>console || fail "$browser $*: $(tail -n 3 console)"
}
# look PAGE WIDTH OPTIONS...: measures a page; is NAME VALUE: what was found
look() {
    page=$1 width=$2
    shift 2
    browse --dump-dom "$@" "file://$data/measure.html?page=file://$WORK/$page&width=$width" >dom
    ! grep -E 'CONSOLE' console || fail "$page: the console has something to say (above)"
}
is() {
    grep -qx "$1=$2" dom || fail "$page at $width: $1 is not $2: $(grep "^$1=" dom)"
}

# The watch itself: what a page says on the console is seen.
echo '<!DOCTYPE html><script>console.error("hear me")</script>' >noisy.html
browse --dump-dom "file://$WORK/noisy.html" >dom
grep -q 'CONSOLE.*hear me' console || fail "this test can't hear the console"

upconv 0 report "$data/bench.json" "$data/judge.json" -o page.html
for width in 360 1280; do
    look page.html $width
    is charts 4
    is bars 15
    is seen 15
    is kinds bare,limit,ours,solution,whole
    is proportional 4
    is overflow false
    is focusable 15
    is skip true
    is headings 1
    is scripts 0
    is foreign 0
    is dark false
done
look page.html 1280 --blink-settings=preferredColorScheme=0
is dark true
is seen 15

# Files in deep folders, and long titles, don't push a phone's page wide.
long=$(printf 'a_rather_long_name_%s_' 1 2 3 4 5)
cp "$data/bench.json" "$long.json"
upconv 0 report "$long.json" "$data/judge.json" -o long.html --title "$long"
look long.html 360
is overflow false

# Names that try to be markup stay names.
upconv 0 report "$data/evil.json" -o evil.html
! grep -q '<script' evil.html || fail "a script came through"
look evil.html 700
is bars 3
is scripts 0
is owned undefined
is foreign 0
is headings 1

# Pictures, for people to look at: $WORK/light.png and dark.png
browse --screenshot="$WORK/light.png" --window-size=1280,2400 "file://$WORK/page.html" >/dev/null
browse --screenshot="$WORK/dark.png" --window-size=500,3600 \
    --blink-settings=preferredColorScheme=0 "file://$WORK/page.html" >/dev/null
for picture in light.png dark.png; do
    [ "$(wc -c <$picture)" -gt 60000 ] || fail "$picture is nearly empty"
done
