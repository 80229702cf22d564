#!/bin/sh
# Makes the Debian package, installs it into an empty root, runs what is in it, removes it again.
. "$(dirname "$0")/common.sh"
need cpack dpkg dpkg-deb dpkg-shlibdeps file
"$SOURCE/scripts/deb.sh" build
deb=$(echo build/*.deb)
rm -rf root && mkdir root

echo "== fields"
dpkg-deb --info "$deb"
field() { dpkg-deb --field "$deb" "$1"; }
[ "$(field Package)" = upconv ] || fail "Package: $(field Package)"
[ "$(build/upconv --version | grep -c "$(field Version)")" = 1 ] || fail "Version: $(field Version)"
[ "$(field Architecture)" = "$(dpkg --print-architecture)" ] || fail "Architecture"
case $(field Depends) in
*libc6*) ;;
*) fail "Depends lacks libc6: $(field Depends)" ;;
esac
# The command is linked to these.
for library in libyaml-0-2 libcjson1; do
    case $(field Depends) in
    *$library*) ;;
    *) fail "Depends lacks $library: $(field Depends)" ;;
    esac
done
# Threads need their runtime: whichever one the library was linked to.
if ldd build/libupconv.so | grep -q libgomp; then
    case $(field Depends) in
    *libgomp1*) ;;
    *) fail "Depends lacks libgomp1: $(field Depends)" ;;
    esac
fi

echo "== files"
lib=usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)
# The root is empty, so its database knows no libc6 (--force-depends), and the package's scripts run
# outside of it (--force-script-chrootless). All that they do is call ldconfig; this one stands in.
in_root() {
    PATH=$PWD/bin:$PATH dpkg --root="$PWD/root" --log=/dev/null --force-depends \
        --force-script-chrootless "$@"
}
if [ "$(id -u)" = 0 ]; then
    mkdir -p root/var/lib/dpkg/info root/var/lib/dpkg/updates bin
    : >root/var/lib/dpkg/status
    printf '#!/bin/sh\necho called >"%s/ldconfig.txt"\n' "$PWD" >bin/ldconfig
    chmod +x bin/ldconfig
    rm -f ldconfig.txt
    in_root --install "$deb"
    [ -e ldconfig.txt ] || fail "the package does not call ldconfig"
else
    dpkg-deb --extract "$deb" root
fi
for file in usr/bin/upconv usr/include/upconv.h "$lib/libupconv.so" "$lib/libupconv.so.0" \
    "$lib/libupconv.a" "$lib/pkgconfig/upconv.pc" "$lib/cmake/upconv/upconv-config.cmake" \
    usr/share/man/man1/upconv.1 usr/share/bash-completion/completions/upconv \
    usr/share/zsh/vendor-completions/_upconv usr/share/fish/vendor_completions.d/upconv.fish \
    usr/share/upconv/problems/conv-transpose3d-max-max-sum.md; do
    [ -e "root/$file" ] || fail "the package lacks $file"
done
dpkg-deb --contents "$deb" | awk '$1 !~ /^d/ { print $6 }' | grep -v '^\./usr/' &&
    fail "files outside /usr (above)"
dpkg-deb --contents "$deb" | grep -v ' root/root ' && fail "files that are not root's (above)"

echo "== run"
root/usr/bin/upconv --version
root/usr/bin/upconv list
root/usr/bin/upconv show root/usr/share/upconv/problems/conv-transpose3d-max-max-sum.md >page.txt

if [ "$(id -u)" = 0 ]; then
    echo "== remove"
    in_root --purge upconv
    [ ! -e root/usr/bin/upconv ] || fail "the command is still there"
fi
