#!/bin/sh
# A part of the suite under sanitizers: sanitize.sh KIND LABEL (see scripts/sanitize.sh)
. "$(dirname "$0")/common.sh"
case $1 in
address) need gcc ;;
*) need clang ;;
esac
exec "$SOURCE/scripts/sanitize.sh" "$1" . "$2"
