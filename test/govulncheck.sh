#!/bin/bash
# govulncheck.sh VERSION FOLDER: runs that version of govulncheck on all
# packages, installed into FOLDER. Without a way to the program or to the
# vulnerability database it says so and succeeds; known vulnerabilities fail it.
set -uo pipefail

version=$1 directory=$2
program=$directory/govulncheck-$version

# give_up OUTPUT: succeeds with a notice if OUTPUT shows a missing network.
give_up() {
	local reason
	reason=$(grep -m 1 -E 'no such host|dial tcp|i/o timeout|403 Forbidden|not available|fetching vulnerabilities' <<<"$1") || {
		echo "$1" >&2
		return 1
	}
	echo "govulncheck: not run, it is out of reach from here: $reason"
}

if [[ ! -x $program ]]; then
	out=$(GOBIN=$directory go install "golang.org/x/vuln/cmd/govulncheck@$version" 2>&1) || {
		give_up "$out"
		exit
	}
	mv "$directory/govulncheck" "$program"
fi
out=$("$program" ./... 2>&1)
code=$?
case $code in
0) ;;
3) echo "$out" >&2 && exit 3 ;;
*) give_up "$out" ;;
esac
