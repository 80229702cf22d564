#!/bin/sh
# Installs the peers that can be had into a folder: bench/peers.sh FOLDER
# Called by `make peers`. Each is optional: what fails is reported and left out. About 4 GB.
set -u
folder=$1
mkdir -p "$folder"
venv=$folder/venv
failed=

# try NAME COMMAND...
try() {
    name=$1
    shift
    echo "peers: $name"
    "$@" || {
        echo "peers: could not install $name; going on without" >&2
        failed="$failed $name"
    }
}

[ -x "$venv/bin/pip" ] || python3 -m venv "$venv" || exit 1
pip="$venv/bin/pip install --quiet --disable-pip-version-check --no-warn-conflicts"

# torch needs CUDA's libraries to be loaded, even for work on the CPU: 2 GB and more. Stand-ins do:
# each has the library's name and, as mere bytes, the symbols that are looked up at loading.
# shellcheck disable=SC2086,SC2317 # one word per option; called through try
torch_without_cuda() {
    $pip --no-deps torch nvidia-cuda-runtime &&
        $pip filelock typing-extensions setuptools sympy networkx jinja2 fsspec || return 1
    libraries=$("$venv/bin/python" -c 'import importlib.util as u, os
print(os.path.join(os.path.dirname(u.find_spec("torch").origin), "lib"))')
    stand_ins=$folder/no-cuda
    mkdir -p "$stand_ins"
    readelf -rW "$libraries"/*.so | awk '/GLOB_DAT|_64_64 /{sub(/@.*/, "", $5); print $5}' |
        grep -E '^(cu[A-Z]|nvrtc|nvshmem)' | sort -u | sed 's/.*/char &[4096];/' >"$stand_ins/all.c"
    readelf -dW "$libraries"/*.so | sed -n 's/.*NEEDED.*\[\(lib[cn][uvc][^]]*\)\]/\1/p' | sort -u |
        grep -v cudart | while read -r name; do
        gcc -shared -nostdlib "-Wl,-soname,$name" -o "$stand_ins/$name" "$stand_ins/all.c"
    done
    LD_LIBRARY_PATH=$stand_ins "$venv/bin/python" -c 'import os, sys
sys.setdlopenflags(os.RTLD_LAZY)
import torch
print("peers: torch", torch.__version__, "adds up to", torch.ones(3).sum().item())'
}

# shellcheck disable=SC2086 # one word per option
{
    try "oneDNN 3, newest (SYCL)" $pip onednn-devel
    # Older, but with plain OpenMP; in a folder of its own, for the files have the same names.
    try "oneDNN 3.2 (OpenMP)" $pip --no-deps --prefix "$folder/gomp" \
        onednn-cpu-gomp onednn-devel-cpu-gomp
    try numpy $pip numpy
    try "ONNX" $pip onnx
    try "ONNX Runtime" $pip onnxruntime
    try OpenVINO $pip openvino
}
try PyTorch torch_without_cuda

du -sh "$folder"
[ -z "$failed" ] || echo "peers: without:$failed" >&2
exit 0
