#!/bin/sh
# Prints how to start each peer that is installed, one command a line: bench/find-peers.sh BUILD
# Called by bench/run.sh and, as find-peers in the build folder, by `upconv bench --peers`.
set -eu
build=$(cd "$1" && pwd)
source=$(cd "$(dirname "$0")" && pwd)
peers=$build/peers
python=$peers/venv/bin/python

# can MODULE: whether it is installed (importing it, seconds for some, is the peer's job)
can() {
    [ -x "$python" ] &&
        "$python" -c "import importlib.util as u, sys; sys.exit(not u.find_spec('$1'))"
}

# The newest oneDNN that answers. Its SYCL build sees the CPU through an OpenCL driver of its own,
# which has to be named, and finds the libraries of its package only when told where they are.
for name in sycl gomp debian; do
    program=$build/bench/onednn-$name
    [ -x "$program" ] || continue
    command="exec '$program'"
    if [ $name = sycl ]; then
        lib=$peers/venv/lib
        command="LD_LIBRARY_PATH='$lib' OCL_ICD_FILENAMES='$lib/libintelocl.so' $command"
    fi
    if echo "conv-transpose2d-softmax-biasadd-scaling-sigmoid batch_size=1" | sh -c "$command" |
        grep -q '^0\.'; then
        echo "$command"
        break
    fi
    echo "bench: oneDNN ($name) is installed but does not work" >&2
done

# What they have to say besides answers (torch says a lot) is kept.
script="exec 2>>'$peers/log.txt' '$python' '$source/peers.py'"
! can openvino || echo "$script openvino"
! can onnxruntime || echo "$script onnx"
if can torch; then
    script="LD_LIBRARY_PATH='$peers/no-cuda' $script"
    echo "$script torch"
    echo "$script torch-compile"
fi
