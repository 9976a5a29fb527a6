# Builds a binary in a shared directory, and copies it: sh build.sh SHARED FILE PACKAGE go build FLAG…
# If this script is killed, the next one does not use the incomplete binary.
set -e
shared=$1 file=$2 pkg=$3
shift 3
mkdir -p "$shared"
exec 9>"$shared/lock"
flock 9
[ -e "$shared/complete" ] || rm -f "$shared/program"
rm -f "$shared/complete"
"$@" -o "$shared/program" "$pkg"
: >"$shared/complete"
cp -f "$shared/program" "$file"
