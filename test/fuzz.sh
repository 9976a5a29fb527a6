#!/bin/bash
# Runs every fuzz target of the module, one after another, for $1 each (30s).
# Stops at the first that finds something; go test has then written the input
# to the package's testdata/fuzz.
set -euo pipefail

time=${1:-30s}
go list -f '{{.Dir}}' ./... | while read -r dir; do
	{ grep -ohE '^func Fuzz[A-Za-z0-9_]+' "$dir"/*_test.go 2>/dev/null || true; } | while read -r _ target; do
		echo "fuzz: $target in ${dir#"$PWD"/}"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$dir" </dev/null
	done
done
