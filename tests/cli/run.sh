#!/bin/sh
# upconv run: the golden cases through files, element types, options, errors, and what happens to
# the output file.
. "$(dirname "$0")/common.sh"
npy=$BUILD/tests/cli/npy-tool
golden=$SOURCE/tests/golden

# ---- Every golden case, with the parameters by the names that they have there
# (under sanitizers every fourth: they take their time).
step=1
[ -z "${SANITIZE:-}" ] || step=4
cases=0
number=0
while read -r name parameters; do
    number=$((number + 1))
    [ $((number % step)) = 0 ] || continue
    slug=${name%%/*}
    folder=$golden/$name
    set -- "$slug"
    for tensor in input kernel scale conv_bias add_bias; do
        [ ! -e "$folder/$tensor.npy" ] || set -- "$@" "--$tensor" "$folder/$tensor.npy"
    done
    for parameter in $parameters; do
        set -- "$@" "--$parameter"
    done
    upconv 0 run "$@" --output y.npy
    "$npy" compare "$folder/output.npy" y.npy 1e-5 >differ || fail "$name: $(cat differ)"
    upconv 0 run "$@" --output reference.npy --reference
    "$npy" cast "$folder/output.npy" rounded.npy '<f4'
    "$npy" compare rounded.npy reference.npy 2e-7 >differ || fail "$name: $(cat differ)"
    cases=$((cases + 1))
done <"$golden/cases.txt"
[ $((cases * step)) -ge 60 ] || fail "only $cases golden cases"
echo "$cases golden cases"

# ---- Every way to say a parameter
slug=conv-transpose3d-layernorm-gelu-scaling
g=$golden/$slug/asymmetric
files="--input $g/input.npy --kernel $g/kernel.npy"
# shellcheck disable=SC2086 # words
upconv 0 run $slug $files --output a.npy --stride 2,3,1 --padding 2,0,1 --output_padding 1,2,0 \
    --scaling_factor 1
says "stride 2x3x1 padding 2x0x1 output_padding 1x2x0"
says "a.npy: f32 (2, 10, "
"$npy" compare "$g/output.npy" a.npy 1e-5 || fail "commas"
# shellcheck disable=SC2086 # words
upconv 0 run $files -o b.npy --stride-d=2 --stride-h 3 --stride_w 1 --padding 2x0x1 \
    --output-padding-d 1 --output-padding-h 2 --output-padding-w 0 --scaling-factor=1 -- $slug
cmp -s a.npy b.npy || fail "hyphens, equals signs and 'x' give another result"
# shellcheck disable=SC2086 # words
upconv 0 run $slug $files --output b.npy --stride 2,3,1 --padding 2,0,1 --output_padding 1,2,0 \
    --scaling_factor -2.5 --threads 1 --isa portable --json
says '"operator":	"'$slug'"'
says '"reference":	false'
grep -q '"shape":.*\[2, 10, ' out || fail "the shape in JSON"

# The same as a chain.
upconv 0 run "f32 2x3x5x6x8, conv_transpose 10 kernel 5x3x4 stride 2x3x1 padding 2x0x1 \
output_padding 1x2x0, layernorm_channel 1e-05, gelu, mul 1" --input "$g/input.npy" \
    --kernel "$g/kernel.npy" --output b.npy
cmp -s a.npy b.npy || fail "the chain gives another result"

# Operands by the names in the chain's text.
"$npy" make x.npy '<f4' '(2, 3, 4)' 1
"$npy" make w.npy '<f4' '(3, 5, 3)' 2
"$npy" make b.npy '<f4' '(5,)' 3
"$npy" make gain.npy '<f4' '(1, 5, 1)' 4
chain="f32 2x3x4, conv_transpose 5 kernel 3 stride 2 bias, mul gain, sigmoid"
upconv 0 run "$chain" --input x.npy --kernel w.npy --conv-bias b.npy --gain gain.npy --output y.npy
upconv 0 run "$chain" --input x.npy --kernel w.npy --conv_bias b.npy --gain gain.npy \
    --output r.npy --reference
"$npy" compare r.npy y.npy 1e-6 || fail "the chain and the oracle"
upconv 2 run "f32 2x3x4, conv_transpose 5 kernel 3, mul threads" --input x.npy --kernel w.npy \
    --output z.npy
complains "has the name of an option"

# ---- Element types: the output has the input's
slug2=conv-transpose2d-softmax-biasadd-scaling-sigmoid
s2="--stride 2 --padding 1 --output_padding 0 --scaling_factor 2"
"$npy" make x8.npy '<f8' '(2, 3, 4, 5)' 1
"$npy" make w8.npy '<f8' '(3, 4, 4, 4)' 2
"$npy" make b8.npy '<f8' '(4,)' 3
# shellcheck disable=SC2086 # words
upconv 0 run $slug2 --input x8.npy --kernel w8.npy --conv_bias b8.npy --add_bias b8.npy $s2 \
    --output y8.npy
for type in f4 f2 u2; do
    for name in x w b; do
        "$npy" cast ${name}8.npy $name-$type.npy "<$type"
    done
    dtype=
    [ $type != u2 ] || dtype="--dtype bf16"
    # shellcheck disable=SC2086 # words
    upconv 0 run $slug2 --input x-$type.npy --kernel w-$type.npy --conv_bias b-$type.npy \
        --add_bias b-$type.npy $s2 $dtype --output y-$type.npy
    "$npy" print y-$type.npy | head -n 1 | grep -q "^<$type" || fail "the output's type, $type"
    "$npy" compare y8.npy y-$type.npy 2e-2 || fail "the values, $type"
done
# shellcheck disable=SC2086 # words
upconv 2 run $slug2 --input x-u2.npy --kernel w-u2.npy --conv_bias b-u2.npy --add_bias b-u2.npy \
    $s2 --output z.npy
complains "say --dtype bf16"
# shellcheck disable=SC2086 # words
upconv 2 run $slug2 --input x-f4.npy --kernel w-f2.npy --conv_bias b-f4.npy --add_bias b-f4.npy \
    $s2 --output z.npy
complains "w-f2.npy (kernel) holds f16, and f32 is needed"
upconv 2 run $slug2 --input x-f4.npy --kernel w-f4.npy --dtype f64 --output z.npy
complains "x-f4.npy (input) holds f32, and f64 is needed"

# ---- An empty batch
"$npy" make x0.npy '<f4' '(0, 3, 4, 5)'
# shellcheck disable=SC2086 # words
upconv 0 run $slug2 --input x0.npy --kernel w-f4.npy --conv_bias b-f4.npy --add_bias b-f4.npy $s2 \
    --output y0.npy
[ "$("$npy" print y0.npy)" = "<f4 (0, 4, 8, 10)" ] || fail "the empty batch"
# shellcheck disable=SC2086 # words
upconv 0 run $slug2 --input x0.npy --kernel w-f4.npy --conv_bias b-f4.npy --add_bias b-f4.npy $s2 \
    --output y0.npy --reference

# ---- Wrong calls: the file, the shape it has, the shape it needs
# wrong WHAT ARGUMENTS...
wrong() {
    what=$1
    shift
    upconv 2 run "$@"
    complains "$what"
    complains "Try 'upconv run --help'."
    [ ! -e z.npy ] || fail "there is an output"
}
# shellcheck disable=SC2086 # words
{
    wrong "which operator" --output z.npy
    wrong "did you mean 'conv-transpose3d-max-max-sum'" conv-transpose3d-max-max-smu --output z.npy
    wrong "needs --input FILE.npy and --kernel FILE.npy" $slug2 --output z.npy
    wrong "Say --output" $slug2 --input x-f4.npy --kernel w-f4.npy
    wrong "conv_bias is missing: give it as --conv_bias FILE.npy, of the shape (4,)" $slug2 \
        --input x-f4.npy --kernel w-f4.npy $s2 --output z.npy
    wrong "did you mean '--conv_bias'?" $slug2 --bias b-f4.npy
    wrong "the chain has no --stride" "f32 1x8x16, conv_transpose 4 kernel 4" --stride 2
    wrong "$slug2 has no --scale;" $slug2 --input x-f4.npy --kernel w-f4.npy --scale b-f4.npy \
        --output z.npy
    wrong "did you mean '--stride'" $slug2 --striide 2 --output z.npy
    wrong "x.npy (input) has the shape (2, 3, 4), and (batch_size, in_channels, height, width) is" \
        $slug2 --input x.npy --kernel w-f4.npy --output z.npy
    wrong "x-f4.npy (kernel) has the shape (2, 3, 4, 5), and (3, 3, 4, 5) is needed" $slug2 \
        --input x-f4.npy --kernel x-f4.npy --conv_bias b-f4.npy --add_bias b-f4.npy $s2 \
        --output z.npy
    wrong "x-f4.npy (add_bias) has the shape (2, 3, 4, 5), and (4,) is needed" $slug2 \
        --input x-f4.npy --kernel w-f4.npy --conv_bias b-f4.npy --add_bias x-f4.npy $s2 \
        --output z.npy
    wrong "x.npy (input) has the shape (2, 3, 4), and (2, 3, 5) is needed" \
        "f32 2x3x5, conv_transpose 5 kernel 3" --input x.npy --kernel w.npy --output z.npy
    wrong "x-f4.npy (input) has width 5; --width says 6" $slug2 --input x-f4.npy \
        --kernel w-f4.npy --width 6 --output z.npy
    wrong "stride_h must be at least 1 (got 0)" $slug2 --input x-f4.npy --kernel w-f4.npy \
        --stride 0 --output z.npy
    wrong "takes one size, or 2 of them" $slug2 --stride 1,2,3 --output z.npy
    wrong "takes a whole number" $slug2 --stride two --output z.npy
    wrong "takes a number" $slug2 --scaling_factor big --output z.npy
    wrong "--isa is auto, portable" $slug2 --isa sse9 --output z.npy
    wrong "one argument too many" $slug2 another --output z.npy
    wrong "conv_transpose" "f32 2x3x5, gelu" --output z.npy
    wrong "the chain says f32, and --dtype says f64" "f32 2x3x4, conv_transpose 5 kernel 3" \
        --input x.npy --kernel w.npy --dtype f64 --output z.npy
}

# ---- The output: whole or not at all
run="run $slug2 --kernel w-f4.npy --conv_bias b-f4.npy --add_bias b-f4.npy $s2"
echo "old" >old.npy
# shellcheck disable=SC2086 # words
{
    upconv 2 $run --input missing.npy --output old.npy
    [ "$(cat old.npy)" = old ] || fail "a failed run has changed the old file"
    chmod 640 old.npy
    ln -s old.npy link.npy
    upconv 0 $run --input x-f4.npy --output link.npy
    [ -L link.npy ] || fail "the symbolic link is gone"
    cmp -s link.npy y-f4.npy || fail "through the link"
    case $(ls -l old.npy) in -rw-r-----*) ;; *) fail "the permissions have changed" ;; esac
    cp x-f4.npy self.npy
    upconv 0 $run --input self.npy --output self.npy
    cmp -s self.npy y-f4.npy || fail "the output in the place of the input"
    upconv 2 $run --input x-f4.npy --output no/such/folder.npy
    complains "no file can be made in its folder"
    upconv 2 $run --input x-f4.npy --output /dev/null
    complains "not a regular file"
    [ -c /dev/null ] || fail "/dev/null is gone"
    mkdir folder
    upconv 2 $run --input x-f4.npy --output folder
    complains "not a regular file"
}

# A file that may not grow so large, and an interruption in the middle.
"$npy" make xl.npy '<f4' '(4, 32, 64, 64)'
"$npy" make wl.npy '<f4' '(32, 64, 4, 4)'
"$npy" make bl.npy '<f4' '(64,)'
large="run $slug2 --input xl.npy --kernel wl.npy --conv_bias bl.npy --add_bias bl.npy $s2"
code=0
# shellcheck disable=SC2086 # words
(ulimit -f 100; "$UPCONV" $large --output old.npy 2>err) || code=$?
[ $code = 2 ] || fail "a file that is too large: exit code $code"
complains "no room for its"
cmp -s old.npy y-f4.npy || fail "the old file has changed"
has_temporary_file() {
    [ -n "$(find . -name '.upconv-*')" ]
}
# begin INPUT: a long run in the background, until its temporary file is there
begin() {
    "$UPCONV" run $slug2 --input "$1" --kernel wl.npy --conv_bias bl.npy --add_bias bl.npy \
        --stride 2 --padding 1 --output_padding 0 --output old.npy --reference >out 2>err &
    pid=$!
    eventually "no temporary file to be seen" has_temporary_file
}
# end CODE: and nothing of it is left
end() {
    code=0
    wait $pid || code=$?
    [ $code = "$1" ] || fail "an interrupted run: exit code $code"
    cmp -s old.npy y-f4.npy || fail "an interrupted run has changed the old file"
    ! has_temporary_file || fail "left: $(find . -name '.upconv-*')"
}
begin xl.npy
kill -TERM $pid
end 143
cp xl.npy shrinking.npy
begin shrinking.npy
: >shrinking.npy
end 2
complains "a file has become shorter while it was read"
