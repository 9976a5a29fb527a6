package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"fettle.dev/fettle/test/hosts"
	"fettle.dev/fettle/test/sample"
)

// TestRun runs commands on three hosts from a desk, copies to them and reboots one.
func TestRun(t *testing.T) {
	sample.Group(t, 6)
	t.Parallel()
	repo := hosts.NewRepo(t)
	repo.AddDebian(t)
	repo.Publish(t)
	d, w := newDesk(t), hosts.NewWorld(t)
	names := []string{"web1", "web2", "web3"}
	ms := make([]*machine, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() { ms[i] = plainMachine(d, w, name, repo) })
	}
	all.Wait()
	text := ""
	for _, m := range ms {
		d.knows(m, "root")
		text += "target \"" + m.Name + "\" {\n  modules = " + map[bool]string{true: "[]",
			false: `["ops"]`}[m.Name == "web3"] + "\n  ssh {}\n}\n"
	}
	d.repo(map[string]string{"fettle.hcl": text + rollingCommand, "modules/ops/module.hcl": opsModule + moreOps})
	d.must("git", "init", "-q", ".")
	for _, s := range []struct {
		name string
		f    func(*desk, []*machine)
	}{{"Together", runTogether}, {"Timeout", runTimeout}, {"Action", runAction}, {"Copy", runCopy},
		{"Parts", runCommandOfParts}, {"Table", runTable}, {"Secrets", runSecrets},
		{"Frozen", runFrozen}, {"Wait", runWaitForUnit}, {"Batches", runRebootInBatches}, {"Reboot", runReboot}} {
		t.Run(s.name, func(t *testing.T) { s.f(d.with(t), ms) })
	}
}

const opsModule = `fact "hostname" { type = string }
action "mark" {
  param "text" { type = string }
  param "times" {
    type    = number
    default = 1
  }
  command = [["install", "-D", "/dev/null", "/srv/mark/${param.text}"], ["echo", fact.hostname, "${param.times}"]]
  dry_run = ["echo", "would mark", param.text]
}
`

// runTogether: the same output is shown once, lines have their host's name while they
// come, and both histories know of it.
func runTogether(d *desk, ms []*machine) {
	o := d.fettle(success, "run", "-t", "web*", "--", "hostname")
	for _, m := range ms {
		d.says(o, m.Name+" | "+m.Name+"\n")
	}
	ms[2].WriteFile(d.t, "/etc/differs", "yes\n", 0o644)
	o = d.fettle(failed, "run", "-t", "web*", "--json", "--", "cat", "/etc/differs")
	if n := strings.Count(o.out, `"exit":1`); n < 2 || !strings.Contains(o.out, `"stdout":"yes\n"`) {
		d.t.Errorf("%d failed", n)
	}
	d.fettle(7, "run", "-t", "web1", "--shell", "--", "echo here; exit 7")
	o = d.fettle(success, "log", "-t", "web1")
	d.says(o, "c1 ", "run hostname", "failed, exit 7", "ann")
	d.says(d.fettle(success, "show", "c3", "-t", "web1"), "here", "sh -c 'echo here; exit 7'", "ssh")
	d.says(d.fettle(success, "log", "--here"), "3 targets: 3 ok", "3 targets: 1 ok, 2 failed", "web1: failed")
	d.says(d.fettle(success, "run", "-t", "web*", "--dry-run", "--", "halt"), "Would run on 3 targets: web1, web2, web3")
}

// runTimeout: nothing that the command started is left.
func runTimeout(d *desk, ms []*machine) {
	o := d.fettle(failed, "run", "-t", "web1", "--timeout", "2s", "--shell", "--", "setsid sleep 4711 & sleep 4711")
	d.says(o, "took longer than 2s")
	if r := ms[0].Exec("pgrep", "-f", "^sleep 4711"); r.ExitCode != 1 {
		d.t.Errorf("left running: %s", r.Stdout)
	}
	d.says(d.fettle(success, "log", "-t", "web1"), "failed, timed out")
}

// runCopy: a file goes to all hosts, and the second time nothing does.
func runCopy(d *desk, ms []*machine) {
	d.put("big", strings.Repeat("fettle ", 1<<20), 0o600)
	args := []string{"copy", "-t", "web*", "--mode", "0640", d.at("big"), "/srv/big"}
	d.says(d.fettle(success, args...), "3 changed")
	before := ms[0].Run(d.t, "stat", "-c", "%i %Z %a", "/srv/big")
	d.says(d.fettle(success, args...), "3 in sync")
	after := ms[0].Run(d.t, "stat", "-c", "%i %Z %a", "/srv/big")
	if after != before || !strings.HasSuffix(after, " 640\n") {
		d.t.Errorf("the file was touched: %q, then %q", before, after)
	}
	d.fettle(success, "copy", "-t", "web*", "--from", "/srv/big", d.at("back"))
	for _, m := range ms {
		if text, err := os.ReadFile(filepath.Join(d.at("back"), m.Name, "big")); err != nil || string(text) != d.get("big") {
			d.t.Errorf("from %s came %d bytes, %v", m.Name, len(text), err)
		}
	}
}

// runReboot: it is waited for until the host has booted anew, and what is asked of it
// then is answered.
func runReboot(d *desk, ms []*machine) {
	d.says(d.fettle(failed, "reboot", "-t", "web2"), "cannot ask for confirmation without a terminal")
	before := ms[1].Boots()
	d.says(d.fettle(success, "reboot", "-t", "web2", "--yes", "--timeout", "3m"), "1 rebooted")
	if ms[1].Boots() != before+1 {
		d.t.Errorf("boot %d, then %d", before, ms[1].Boots())
	}
	d.says(d.fettle(success, "wait", "-t", "web2", "--for", "boot", "--timeout", "3m"), "1 ready")
	d.says(d.fettle(success, "wait", "-t", "web2", "--for", "port=22"), "1 ready")
	d.says(d.fettle(failed, "wait", "-t", "web2", "--for", "unit=nothing.service", "--timeout", "1s"),
		"cannot wait longer than 1s")
	d.says(d.fettle(success, "log", "-t", "web2"), "reboot", "succeeded")
}

// runAction: an action of a module runs where the module is, with the facts of each
// target, and its dry run changes nothing.
func runAction(d *desk, ms []*machine) {
	d.says(d.fettle(success, "run", "-t", "web1", "--list"), "ops.mark", "times=1")
	d.says(d.fettle(success, "run", "-t", "web[12]", "--dry-run", "mark", "text=a"), "web1 | would mark a",
		"web2 | would mark a")
	if r := ms[0].Exec("test", "-e", "/srv/mark"); r.ExitCode == 0 {
		d.t.Error("the dry run changed something")
	}
	d.says(d.fettle(failed, "run", "-t", "web*", "mark", "text=a", "times=2"), "cannot run mark on web3",
		"the module ops (modules/ops/module.hcl:2), which web1, web2 have")
	if r := ms[0].Exec("test", "-e", "/srv/mark"); r.ExitCode == 0 {
		d.t.Error("it ran where it is, though one of the targets lacks it")
	}
	d.says(d.fettle(success, "run", "-t", "web*,!web3", "mark", "text=a", "times=2"), "web1 | web1 2", "web2 | web2 2")
	for _, m := range ms[:2] {
		m.Run(d.t, "test", "-e", "/srv/mark/a")
	}
	d.says(d.fettle(failed, "run", "-t", "web1", "mark", "text=a", "times=x"), "must be a number")
	d.says(d.fettle(success, "log", "-t", "web1"), "ops.mark")
}
