package commands

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/ui/cli"
)

// TestExitCodesDocument compares the table of exit codes in docs/operations.md with the codes.
func TestExitCodesDocument(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Exit codes\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var got []int
	for _, m := range regexp.MustCompile(`(?m)^\| (\d+) \|`).FindAllStringSubmatch(section, -1) {
		n, _ := strconv.Atoi(m[1])
		got = append(got, n)
	}
	want := []int{cli.ExitOK, cli.ExitError, cli.ExitChanges, cli.ExitCheckFailed, cli.ExitLocked, cli.ExitStale,
		cli.ExitRolledBack, cli.ExitUsage}
	if !slices.Equal(got, want) {
		t.Errorf("docs/operations.md lists the exit codes %v, want %v", got, want)
	}
}
