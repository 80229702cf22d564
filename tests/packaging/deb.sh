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
    "$lib/libupconv.a" "$lib/pkgconfig/upconv.pc" "$lib/cmake/upconv/upconv-config.cmake"; do
    [ -e "root/$file" ] || fail "the package lacks $file"
done
dpkg-deb --contents "$deb" | awk '$1 !~ /^d/ { print $6 }' | grep -v '^\./usr/' &&
    fail "files outside /usr (above)"
dpkg-deb --contents "$deb" | grep -v ' root/root ' && fail "files that are not root's (above)"

echo "== run"
root/usr/bin/upconv --version
root/usr/bin/upconv list

if [ "$(id -u)" = 0 ]; then
    echo "== remove"
    in_root --purge upconv
    [ ! -e root/usr/bin/upconv ] || fail "the command is still there"
fi
