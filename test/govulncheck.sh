#!/bin/bash
# Runs govulncheck ($1) on all packages. Without a way to the vulnerability
# database it says so and succeeds; known vulnerabilities fail it.
set -uo pipefail

out=$("$1" ./... 2>&1)
code=$?
if ((code == 0)); then
	exit 0
fi
if ((code != 3)) && grep -qE 'fetching vulnerabilities|vuln\.go\.dev|no such host|dial tcp' <<<"$out"; then
	echo "govulncheck: not run, the vulnerability database is out of reach: $(tail -n 1 <<<"$out")"
	exit 0
fi
echo "$out"
exit "$code"
