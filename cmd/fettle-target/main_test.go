package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fettle.dev/fettle/test/gobuild"
)

// TestSmall: the binary for targets is built without dependencies that only fettle itself needs,
// and has rollback for a user on the console.
func TestSmall(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		for _, heavy := range []string{"github.com/nats-io/", "modernc.org/", "github.com/prometheus/",
			"google.golang.org/", "fettle.dev/fettle/internal/fleet/hub",
			"github.com/google/go-cmp", // a sixth of the time of a start
		} {
			if strings.HasPrefix(line, heavy) {
				t.Errorf("it links %s: move what needs it out of the packages cli, cli/host and cli/once",
					strings.TrimSpace(line))
			}
		}
	}
	bin := filepath.Join(t.TempDir(), "fettle-target")
	if err := gobuild.Program(bin, gobuild.Target); err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for _, c := range []struct{ args, says string }{
		{"--help", "rollback"},
		{"log --root " + root, "nothing"},
		{"rollback --root " + root, "nothing is applied"},
		{"status -t web1 -C ../../examples/company", "This is the program that fettle brings to a target"},
		{"status --fleet", "use your workstation"},
		{"serve-stdio --frm x", "cannot read the flags"},
		{"watch-confirmation --from 0 --root " + root, ""},
	} {
		out, err := exec.Command(bin, strings.Fields(c.args)...).CombinedOutput()
		if !strings.Contains(strings.ToLower(string(out)), strings.ToLower(c.says)) {
			t.Errorf("%s: it does not say %q: %v\n%s", c.args, c.says, err, out)
		}
	}
}
