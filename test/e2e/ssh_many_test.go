package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fettle.dev/fettle/test/hosts"
	"fettle.dev/fettle/test/sample"
)

// many is a repository whose targets are all alike, but that some can be told to fail.
const many = `
target_group "all" {
  targets = ["*"]
  ssh {}
}
variable "text" {
  type    = string
  default = "one"
}
directory "/srv/site" {}
file "/srv/site/index.html" { content = "${var.text}\n" }
file "/srv/site/${target.name}" { content = "" }
exec "willing" {
  command = ["/bin/sh", "-c", "test ! -e /etc/unwilling"]
  creates = "/etc/never"
  undo    = ["true"]
}
check "text" { exec = "grep -qv bad /srv/site/index.html" }
`

// TestManyHosts works on hosts side by side: five, and thirty in the long form.
func TestManyHosts(t *testing.T) {
	sample.Group(t, 10)
	t.Parallel()
	n := 5
	if os.Getenv("FETTLE_LONG") != "" {
		n = 30
	}
	d := newDesk(t)
	w := hosts.NewWorld(t)
	ms := bootMany(d, w, n)
	text := many
	for _, m := range ms {
		text += fmt.Sprintf("target %q {}\n", m.Name)
	}
	text = strings.Replace(text, `file "/srv/site/${target.name}" { content = "" }`, `file "name" {
  path    = "/srv/site/${target.name}"
  content = ""
}`, 1)
	url, asked := d.prometheus()
	d.repo(map[string]string{"fettle.hcl": text + fmt.Sprintf(gatedStrategy, url)})
	d.must("git", "init", "-q")
	d.must("git", "add", "-A")
	d.must("git", "commit", "-qm", "one")

	began := time.Now()
	o := d.fettle(0, "apply", "-t", "*", "--yes")
	t.Logf("%d hosts at first contact in %s", n, time.Since(began).Round(time.Millisecond))
	d.says(o, fmt.Sprintf("Applied %d targets: %d changed", n, n), fmt.Sprintf("%d targets changed:", n))
	for _, m := range ms {
		m.want("one", "cat", "/srv/site/index.html")
		m.want("", "cat", "/srv/site/"+m.Name)
	}
	began = time.Now()
	d.says(d.fettle(changes, "plan", "-t", "*"), fmt.Sprintf("%d targets with changes",
		n)) // the command has no guard that holds
	t.Logf("a plan for all of them in %s", time.Since(began).Round(time.Millisecond))

	bad, off, rest := ms[0], ms[1], ms[2:]
	bad.WriteFile(t, "/etc/unwilling", "", 0o644)
	off.Run(t, "systemctl", "stop", "ssh.socket", "ssh.service")
	d.hangUp()
	o = d.fettle(failed, "apply", "-t", "*", "--yes", "--var", "text=two")
	d.says(o, fmt.Sprintf("Applied %d targets: %d changed, 1 unreachable, 1 failed", n, n-2),
		"1 target failed: "+bad.Name, "1 target unreachable: "+off.Name, "the port refuses connections")
	for _, m := range rest {
		m.want("two", "cat", "/srv/site/index.html")
	}

	bad.Run(t, "rm", "/etc/unwilling")
	off.Run(t, "systemctl", "start", "ssh.service")
	off.answersSSH()
	d.says(d.fettle(0, "apply", "-t", "@failed", "--yes", "--var", "text=two"), "Applied 2 targets: 2 changed")

	plans := filepath.Join(t.TempDir(), "plans")
	// Plans that were saved for all of them are done as they are, and each once.
	d.says(d.fettle(changes, "plan", "-t", "*", "--var", "text=saved", "-o", plans),
		fmt.Sprintf("Saved %d plans. To apply exactly these plans: fettle apply %s", n, plans))
	off.WriteFile(t, "/srv/site/index.html", "other\n", 0o644)
	o = d.fettle(stale, "apply", plans, "--yes")
	d.says(o, fmt.Sprintf("Applied %d targets: %d changed, 1 failed", n, n-1), "1 target failed: "+off.Name,
		"the saved plan is stale")
	off.want("other", "cat", "/srv/site/index.html")
	d.fettle(0, "apply", "-t", off.Name, "--yes", "--var", "text=two")
	for _, m := range append([]*machine{bad}, rest...) {
		m.want("saved", "cat", "/srv/site/index.html")
		d.fettle(0, "apply", "-t", m.Name, "--yes", "--var", "text=two")
	}

	if n == 5 {
		d.rollOut(ms)
		d.gates(ms, asked)
		d.stages(ms, text)
		d.repo(map[string]string{"fettle.hcl": text})
		d.fettle(0, "apply", "-t", "*", "--yes", "--var", "text=two")
	}

	// With one at a time and no failure allowed, the first that fails is the last.
	bad.WriteFile(t, "/etc/unwilling", "", 0o644)
	o = d.fettle(failed, "apply", "-t", "*", "--yes", "--batch", "1", "--max-failed", "0", "--var", "text=three")
	d.says(o, fmt.Sprintf("%d skipped", n-1))
	for _, m := range ms[1:] {
		m.want("two", "cat", "/srv/site/index.html")
	}
	bad.Run(t, "rm", "/etc/unwilling")

	d.says(d.fettle(0, "rollback", "-t", "*", "origin", "--yes"), fmt.Sprintf("Rolled back %d targets: %d changed", n, n))
	for _, m := range ms {
		if m.has("/srv/site") {
			t.Errorf("%s still has what was rolled back", m.Name)
		}
	}
	d.says(d.fettle(0, "status", "-t", "*"), fmt.Sprintf("Asked %d targets: %d answered", n, n))
}

// bootMany boots hosts at the same time, which the desk knows and may log in to.
func bootMany(d *desk, w *hosts.World, n int) []*machine {
	d.t.Helper()
	ms := make([]*machine, n)
	var boot sync.WaitGroup
	for i := range ms {
		boot.Go(func() { ms[i] = &machine{Host: w.Boot(d.t, fmt.Sprintf("h%02d", i+1), hosts.Options{}), t: d.t} })
	}
	boot.Wait()
	for _, m := range ms {
		m.settle()
		m.welcomes(d, "root")
		m.answersSSH()
		d.knows(m, "root")
	}
	return ms
}
