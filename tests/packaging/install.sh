#!/bin/sh
# Installs the build into a temporary prefix and uses it as strangers would: from C11 and C++17,
# through CMake and pkg-config, shared and static, also after the prefix has been moved.
. "$(dirname "$0")/common.sh"
need "$CC" "$CXX" pkg-config
consumer=$SOURCE/tests/packaging/consumer
version=$("$BUILD/upconv" --version | grep -o '[0-9][0-9.]*' | head -n 1)
rm -rf first "second place" static-only cmake pkg-shared pkg-static moved-cmake moved-pkg

# runs PROGRAM...: each prints the version.
runs() {
    for program in "$@"; do
        echo "run $program"
        [ "$("$program")" = "$version" ] || fail "$program did not print $version"
    done
}

# linked PROGRAM shared|static: that it is what it says.
linked() {
    if ldd "$1" | grep -q 'libupconv\.so\.0'; then kind=shared; else kind=static; fi
    [ $kind = "$2" ] || fail "$1 is linked to the $kind library"
}

# by_cmake PREFIX FOLDER LANGUAGES: find_package.
by_cmake() {
    cmake -S "$consumer" -B "$2" -DCMAKE_PREFIX_PATH="$1" -DUPCONV_LANGUAGES="$3"
    cmake --build "$2"
    runs "$2"/c*_upconv "$2"/c*_upconv_static
    for program in "$2"/c*_upconv; do linked "$program" shared; done
    for program in "$2"/c*_upconv_static; do linked "$program" static; done
}

# by_pkg_config PREFIX FOLDER shared|static. The flags go through eval, because pkg-config escapes
# the spaces of paths.
by_pkg_config() {
    mkdir "$2"
    pc=$(find "$1" -name upconv.pc)
    static=
    [ "$3" = shared ] || static=--static
    flags=$(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config $static --cflags --libs upconv)
    # shellcheck disable=SC2034 # eval uses it
    rpath="-Wl,-rpath,$(dirname "$(dirname "$pc")")"
    warnings="-Wall -Wextra -Wpedantic -Werror"
    eval "$CC -std=c11 $warnings \"\$consumer/consumer.c\" -o \"$2/c\" $flags \"\$rpath\""
    eval "$CXX -std=c++17 $warnings \"\$consumer/consumer.cpp\" -o \"$2/cxx\" $flags \"\$rpath\""
    runs "$2/c" "$2/cxx"
    linked "$2/c" "$3"
    linked "$2/cxx" "$3"
}

echo "== install"
cmake --install "$BUILD" --prefix "$PWD/first"
runs_version=$(first/bin/upconv --version)
[ "$runs_version" = "$("$BUILD/upconv" --version)" ] || fail "the installed command says $runs_version"
if grep -rIl -e "$SOURCE" -e "$BUILD" first; then
    fail "installed files (above) name the folder they were built in"
fi

for file in man/man1/upconv.1 bash-completion/completions/upconv zsh/site-functions/_upconv \
    fish/vendor_completions.d/upconv.fish; do
    [ -s "first/share/$file" ] || fail "no share/$file"
done
for file in "$SOURCE"/problems/*.md; do
    first/bin/upconv show "first/share/upconv/problems/$(basename "$file")" >page.txt
    [ -s page.txt ] || fail "the installed $(basename "$file") has no page"
done

echo "== CMake, C and C++"
by_cmake "$PWD/first" cmake "C;CXX"
echo "== pkg-config, shared"
by_pkg_config "$PWD/first" pkg-shared shared
echo "== pkg-config, static"
cp -R first static-only
find static-only -name 'libupconv.so*' -exec rm {} +
by_pkg_config "$PWD/static-only" pkg-static static

echo "== the same after a move, into a path with a space"
rm -rf static-only
mv first "second place"
by_cmake "$PWD/second place" moved-cmake CXX
by_pkg_config "$PWD/second place" moved-pkg shared
