#!/bin/sh
# Makes the Debian package in a build folder of its own: scripts/deb.sh FOLDER
# The prefix is /usr there, as it is for everything that Debian's packages bring.
set -eu
folder=$1
source=$(dirname "$0")/..

cmake -S "$source" -B "$folder" -DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_BUILD_TYPE=Release \
    -DBUILD_TESTING=OFF
cmake --build "$folder"
rm -f "$folder"/*.deb
(cd "$folder" && cpack -G DEB)
