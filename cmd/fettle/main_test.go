package main

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// update rewrites golden files. Review the difference like code.
var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"fettle": main})
}

// TestScripts runs the real command on the real engine, below --root in a directory of its own.
// Every script starts with the variable R, an empty root that has /srv, and URL, where the
// directory www is served.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Setup: func(e *testscript.Env) error {
			root := filepath.Join(e.WorkDir, "root")
			web := httptest.NewServer(http.FileServer(http.Dir(filepath.Join(e.WorkDir, "www"))))
			e.Defer(web.Close)
			e.Setenv("URL", web.URL)
			for name, value := range map[string]string{"R": root, "HOME": e.WorkDir, "USER": "jane", "TERM": "xterm",
				"TZ": "UTC"} {
				e.Setenv(name, value)
			}
			git := "[user]\n\tname = Jane\n\temail = jane@example.org\n[init]\n\tdefaultBranch = main\n"
			if err := os.WriteFile(filepath.Join(e.WorkDir, ".gitconfig"), []byte(git), 0o644); err != nil {
				return err
			}
			return os.MkdirAll(filepath.Join(root, "srv"), 0o755)
		},
		Condition: func(name string) (bool, error) {
			if name != "root" {
				return false, fmt.Errorf("there is no condition %q", name)
			}
			return os.Geteuid() == 0, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"code": cmdCode, "await": cmdAwait},
	})
}

// cmdCode runs fettle and wants one exit code: code 2 plan --json
func cmdCode(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 1 {
		ts.Fatalf("usage: code N ARGS…")
	}
	got := "0"
	if err := ts.Exec("fettle", args[1:]...); err != nil {
		got = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if got != args[0] {
		ts.Fatalf("fettle %s: exit code %s, want %s", strings.Join(args[1:], " "), got, args[0])
	}
}

// cmdAwait waits until a path is there, or with ! until it is gone, for as long
// as the test may take.
func cmdAwait(ts *testscript.TestScript, neg bool, args []string) {
	for range 600 {
		if _, err := os.Lstat(ts.MkAbs(args[0])); (err == nil) != neg {
			return
		}
		ts.Check(ts.Exec("sleep", "0.1"))
	}
	ts.Fatalf("%s: failed for a minute", args[0])
}
