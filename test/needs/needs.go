// Package needs declares the requirements of tests. If a requirement is missing, a test is skipped, or
// fails on hosts that must have it. A skipped test would otherwise go unnoticed there.
//
//	needs.Root(t)
//	strace := needs.Program(t, "strace")
//
// A machine must have everything if FETTLE_TEST_NEEDS is "require", as in .ci/run, which runs
// test/setup.sh before.
package needs

import (
	"os"
	"os/exec"
	"testing"
)

// Variable is the environment variable that says what becomes of a test whose needs are
// missing.
const Variable = "FETTLE_TEST_NEEDS"

// Root skips or fails a test that does not run as root.
func Root(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		Missing(t, "the test needs root")
	}
}

// Program returns the path of a program, which is looked for in PATH and where Debian has
// programs of root. It ends the test where there is none.
func Program(t testing.TB, name string) string {
	t.Helper()
	for _, p := range []string{name, "/usr/sbin/" + name, "/sbin/" + name} {
		if path, err := exec.LookPath(p); err == nil {
			return path
		}
	}
	Missing(t, "the test needs the program "+name+": run test/setup.sh as root")
	return ""
}

// Missing ends a test for a reason: it is skipped, or fails where the machine must have
// everything.
func Missing(t testing.TB, why string) {
	t.Helper()
	if os.Getenv(Variable) == "require" {
		t.Fatal(why)
	}
	t.Skip(why)
}
