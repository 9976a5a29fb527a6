#!/bin/sh
# Builds fettle as one file that carries what it brings to targets:
# packaging/program.sh FILE [ARCH…]
#
#   ARCH        processors of targets, amd64 or arm64; none: fettle brings itself
#   GOARCH      the processor that FILE is for; default: this machine's
#   VERSION     what it calls itself; default: what Go knows of the commit
#   BUILDFLAGS  more flags for go build, such as -buildvcs=false
set -eu
umask 022
out=$1
shift
case $out in /*) ;; *) out=$PWD/$out ;; esac
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CGO_ENABLED=0 GOOS=linux
set_version=${VERSION:+-X main.version=$VERSION}

# build ARCH FILE PACKAGE [FLAG…], the same bytes for the same source
build() {
	goarch=$1 into=$2 package=$3
	shift 3
	# shellcheck disable=SC2086 # flags are words
	GOARCH=$goarch go build -trimpath ${BUILDFLAGS:-} "$@" -ldflags "-s -w -buildid= $set_version" -o "$into" "$package"
}

overlay=
for arch; do
	file=fettle-$arch
	build "$arch" "$work/$file" ./cmd/fettle-target
	sha256sum "$work/$file" | cut -d' ' -f1 >"$work/$file.sha256"
	gzip -9n "$work/$file"
	for name in "$file.gz" "$file.sha256"; do
		overlay="$overlay${overlay:+, }\"$PWD/cmd/fettle/programs/$name\": \"$work/$name\""
	done
done
mkdir -p "$(dirname "$out")"
echo "{\"Replace\": {$overlay}}" >"$work/overlay.json"
build "${GOARCH:-$(go env GOHOSTARCH)}" "$out" ./cmd/fettle "-overlay=$work/overlay.json"
