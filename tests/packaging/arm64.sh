#!/bin/sh
# The library for arm64: built by a cross compiler, its kernel and golden tests run by qemu.
. "$(dirname "$0")/common.sh"
need aarch64-linux-gnu-gcc qemu-aarch64

# Programs find the cross compiler's C library in its own root.
cmake -S "$SOURCE" -B . -DCMAKE_BUILD_TYPE=Release -DUPCONV_WERROR=ON \
    -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
    -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc -DUPCONV_COMMAND=OFF \
    -DCMAKE_CROSSCOMPILING_EMULATOR="qemu-aarch64;-L;/usr/aarch64-linux-gnu"
cmake --build . -j 2
OMP_NUM_THREADS=2 ctest --output-on-failure --no-tests=error -j 2 \
    -R '^core\.(kernels|ops|math|isa|dtype|golden|properties.short)$'
