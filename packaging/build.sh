#!/bin/sh
# Builds the Debian package: packaging/build.sh FOLDER. The same commit gives the
# same bytes with the same Go, whoever builds it and when.
#
#   VERSION            default: git describe
#   ARCH               default: this machine's, as dpkg calls it
#   PROGRAMS           the processors of targets; default: amd64 arm64
#   SOURCE_DATE_EPOCH  default: the time of the commit
set -eu
umask 022
export LC_ALL=C TZ=UTC

cd "$(dirname "$0")/.."
out=$1
arch=${ARCH:-$(dpkg --print-architecture)}

# Without a tag the version is below every release: 0.0.0~git412.3f2a1b0
describe() {
	if tag=$(git describe --tags --match 'v[0-9]*' --dirty=+dirty 2>/dev/null); then
		echo "${tag#v}" | sed 's/-\([0-9]*\)-g/+git\1./'
		return
	fi
	dirty=
	git diff --quiet HEAD 2>/dev/null || dirty=+dirty
	echo "0.0.0~git$(git rev-list --count HEAD).$(git rev-parse --short=7 HEAD)$dirty"
}

version=${VERSION:-$(describe)}
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
doc=$root/usr/share/doc/fettle
mkdir -p "$root/DEBIAN" "$root/usr/bin" "$root/etc/fettle" "$doc" "$root/usr/lib/systemd/system" "$root/usr/lib/sysusers.d" "$root/usr/share/man/man1" "$root/usr/share/man/man7" \
	"$root/usr/share/bash-completion/completions" "$root/usr/share/zsh/vendor-completions" "$root/usr/share/fish/vendor_completions.d" \
	"$root/usr/share/lintian/overrides"

build() { # GOARCH FILE
	GOARCH=$1 GOFLAGS= VERSION=$version BUILDFLAGS=-buildvcs=false packaging/program.sh "$2" ${PROGRAMS-amd64 arm64}
}

case $arch in
amd64 | arm64 | riscv64 | ppc64el | s390x) ;;
*) echo "cannot build for $arch: it is not one of amd64, arm64, riscv64, ppc64el, s390x" >&2; exit 1 ;;
esac
goarch=$(echo "$arch" | sed 's/ppc64el/ppc64le/')
build "$goarch" "$root/usr/bin/fettle"

# Pages and completions come from the program, built for this machine.
fettle=$root/usr/bin/fettle
if [ "$goarch" != "$(go env GOHOSTARCH)" ]; then
	fettle=$work/fettle
	build "$(go env GOHOSTARCH)" "$fettle"
fi
"$fettle" man "$root/usr/share/man/man1" >/dev/null
"$fettle" man "$root/usr/share/man/man7" docs/language.md docs/kinds.md docs/steps.md >/dev/null
"$fettle" completion bash >"$root/usr/share/bash-completion/completions/fettle"
"$fettle" completion zsh >"$root/usr/share/zsh/vendor-completions/_fettle"
"$fettle" completion fish >"$root/usr/share/fish/vendor_completions.d/fettle.fish"

# licenses prints the license of each library that is linked in.
licenses() {
	go version -m "$1" | awk '$1 == "dep" { print $2, $3 }' | while read -r module v; do
		dir=$(go list -m -f '{{.Dir}}' "$module@$v")
		printf '==== %s %s\n\n' "$module" "$v"
		find "$dir" -maxdepth 1 -type f \( -iname 'licen[cs]e*' -o -iname 'copying*' -o -iname 'notice*' \) | sort | while read -r file; do cat "$file"; echo; done
	done
}
licenses "$root/usr/bin/fettle" >"$doc/libraries" # it links all that what it carries does
grep -q '^==== ' "$doc/libraries"

cat >"$doc/changelog" <<EOF
fettle ($version) unstable; urgency=medium

  * What has changed is in NEWS.gz.

 -- The fettle authors <fettle@fettle.dev>  $(date -u -R -d "@$SOURCE_DATE_EPOCH")
EOF
cp CHANGELOG.md "$doc/NEWS"
cp docs/*.md docs/openapi.json "$doc/"
cp packaging/debian/README.Debian packaging/debian/copyright "$doc/"
cp packaging/debian/lintian-overrides "$root/usr/share/lintian/overrides/fettle"
cp packaging/systemd/* "$root/usr/lib/systemd/system/"
cp packaging/sysusers/* "$root/usr/lib/sysusers.d/"
gzip -9n "$root"/usr/share/man/man1/*.1 "$root"/usr/share/man/man7/*.7 "$doc/changelog" "$doc/NEWS" "$doc/libraries"

find "$root" -type f -exec chmod 0644 {} +
find "$root" -type d -exec chmod 0755 {} +
chmod 0755 "$root/usr/bin/fettle"
for script in postinst prerm postrm; do
	install -m 0755 "packaging/debian/$script" "$root/DEBIAN/$script"
done
size=$(find "$root" -path "$root/DEBIAN" -prune -o -type f -printf '%s\n' | awk '{ n += int(($1 + 1023) / 1024) } END { print n }')
sed "s/@VERSION@/$version/; s/@ARCH@/$arch/; s/@SIZE@/$size/" packaging/debian/control.in >"$root/DEBIAN/control"
(cd "$root" && find usr -type f | sort | xargs md5sum) >"$root/DEBIAN/md5sums"
chmod 0644 "$root/DEBIAN/control" "$root/DEBIAN/md5sums"
find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +

mkdir -p "$out"
deb=$out/fettle_${version}_$arch.deb
dpkg-deb --root-owner-group -Zxz --uniform-compression --build "$root" "$deb" >/dev/null
echo "$deb"
