package e2e

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"time"
)

// moreOps is the rest of the module ops.
const moreOps = `action "where" {
  changes = false
  output  = "json"
  command = ["sh", "-c", "printf '{\"kernel\": \"%s\", \"name\": \"%s\"}' \"$(uname -s)\" \"$1\"", "sh", "${fact.hostname == "web1" ? "first" : "other"}"]
}
action "login" {
  param "typed" {
    type   = string
    secret = true
  }
  command = ["sh", "-c", "echo \"$TOKEN $TYPED\"; env >&2; printf '%s|%s' \"$TOKEN\" \"$TYPED\" | sha256sum | cut -c1-64 > /srv/sum; for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline; echo; done > /srv/list 2>/dev/null"]
  env     = { TOKEN = secret("api"), TYPED = param.typed }
}
`

// rollingCommand marks hosts one after the other, where its parts say.
const rollingCommand = `command "rolling" {
  param "text" { type = string }
  part "mark" {
    targets = ["web[12]"]
    action  = "mark"
    params  = { text = param.text, times = 3 }
    batch   = 1
  }
  part "look" {
    targets    = ["web*"]
    command    = ["test", "-e", "/srv/mark/${param.text}"]
    changes    = false
    max_failed = 1
  }
  part "say" {
    targets = ["web3"]
    command = ["sh", "-c", "echo it was $TEXT"]
    env     = { TEXT = param.text }
  }
}
`

// runCommandOfParts: the parts run one after the other, where they say; a failure that
// may be does not end it, one that may not does.
func runCommandOfParts(d *desk, ms []*machine) {
	o := d.fettle(failed, "run", "rolling", "text=c")
	d.says(o, "Part 1 of 3, mark", "web1 | web1 3", "web2 | web2 3", "1 target failed: web3", "web3 | it was c",
		"Ran rolling on 3 targets: 2 succeeded, 1 failed")
	ms[2].WriteFile(d.t, "/srv/mark/c", "", 0o644)
	d.fettle(success, "run", "rolling", "text=c")
	ms[0].Run(d.t, "sh", "-c", "rm -r /srv/mark && touch /srv/mark") // a file where a directory would be
	o = d.fettle(failed, "run", "rolling", "text=d")
	d.says(o, "cannot continue with rolling after part 1 of 3, mark: it failed on 1 target")
	d.saysNot(o, "Part 2 of 3", "web2 |")
	ms[0].Run(d.t, "rm", "/srv/mark")
	d.says(d.fettle(success, "log", "-t", "web2"), "ops.mark")
	d.says(d.fettle(success, "log", "--here"), "fettle run rolling text=d")
	o = d.fettle(success, "run", "-t", "web*", "--list")
	d.says(o, "ops.login", "web1, web2", "typed=…", "rolling", "mark, look, say")
}

// runTable: what hosts print as JSON is one table, in which those that said the same
// are one.
func runTable(d *desk, _ []*machine) {
	d.says(d.fettle(success, "run", "-t", "web[12]", "where"),
		"TARGETS  KERNEL  NAME\nweb1     Linux   first\nweb2     Linux   other\n")
	d.says(d.fettle(success, "run", "-t", "web1", "where"), "KERNEL  NAME\nLinux   first\n")
	d.says(d.fettle(success, "run", "-t", "web*", "units-failed"), "TARGETS", "Ran it on 3 targets: 3 succeeded")
}

// runSecrets: a secret of the repository and one that was typed reach the program, and
// are in nothing that it says, in no history and in no list of processes.
func runSecrets(d *desk, ms []*machine) {
	const typed = "typed-4d1c-heron"
	d.fettle(success, "secret", "init")
	d.put("plain", planted+"\n", 0o600)
	d.must("sh", "-c", "fettle secret set api < $HOME/plain")
	var said strings.Builder
	for _, args := range [][]string{{"run", "-t", "web1", "login", "typed=" + typed},
		{"run", "-t", "web1", "login", "typed=" + typed, "--json"}, {"run", "-t", "web[12]", "login", "typed=" + typed}} {
		o := d.fettle(success, args...)
		d.says(o, "(secret) (secret)")
		said.WriteString(o.all())
	}
	ms[0].want(strings.Fields(d.must("sh", "-c", "printf '%s|%s' "+planted+" "+typed+" | sha256sum"))[0], "cat",
		"/srv/sum")
	for _, args := range [][]string{{"log", "-t", "web1", "--json"}, {"log", "--here", "--json"},
		{"log", "-t", "web1", "-v"}} {
		o := d.fettle(success, args...)
		if args[1] != "-t" || args[3] == "--json" {
			d.says(o, "typed=…")
		}
		said.WriteString(o.all())
	}
	for _, m := range ms[:2] {
		said.WriteString(m.Run(d.t, "sh", "-c",
			"cat /srv/list; journalctl -q --no-pager; cat /run/fettle/* 2>/dev/null || true"))
	}
	here := d.get(".local/state/fettle/history.jsonl")
	for _, secret := range []string{planted, typed, "AGE-SECRET-KEY"} {
		if strings.Contains(said.String(), secret) || strings.Contains(here, secret) {
			d.t.Errorf("%s shows", secret)
		}
		if got := ms[0].holds(secret); len(got) > 0 && secret != "AGE-SECRET-KEY" {
			d.t.Errorf("%s is in %v", secret, got)
		}
	}
	_ = os.RemoveAll(d.at("repo/secrets"))
}

// runFrozen: what changes something is refused on a frozen host, unless that is said;
// what looks runs.
func runFrozen(d *desk, ms []*machine) {
	d.fettle(success, "freeze", "-t", "web1", "--reason", "until noon")
	for _, args := range [][]string{{"run", "-t", "web1", "mark", "text=f"},
		{"run", "-t", "web1", "--", "touch", "/srv/f"}, {"copy", "-t", "web1", d.at("big"), "/srv/f"},
		{"run", "-t", "web*", "service-restart", "name=cron"}} {
		d.says(d.fettle(failed, args...), "frozen", "until noon", "--ignore-freeze")
	}
	if ms[0].has("/srv/f") || ms[0].has("/srv/mark/f") {
		d.t.Error("a frozen host was changed")
	}
	d.fettle(success, "run", "-t", "web1", "where")
	d.fettle(success, "run", "-t", "web1", "--read-only", "--", "true")
	d.fettle(success, "wait", "-t", "web1", "--for", "boot")
	d.fettle(success, "run", "-t", "web1", "--ignore-freeze", "mark", "text=f")
	ms[0].Run(d.t, "test", "-e", "/srv/mark/f")
	d.says(d.fettle(success, "show", "c"+strconv.Itoa(d.lastCommand("web1").ID), "-t", "web1"), "--ignore-freeze")

	// A reboot is a change, too; with --max-failed 0 nothing begins behind it.
	boots := func() [3]int { return [3]int{ms[0].Boots(), ms[1].Boots(), ms[2].Boots()} }
	before := boots()
	o := d.fettle(failed, "reboot", "-t", "web*", "--batch", "1", "--max-failed", "0", "--yes")
	d.says(o, "1 target failed: web1", "frozen", "2 targets skipped")
	if boots() != before {
		d.t.Errorf("booted %v, then %v", before, boots())
	}
	d.fettle(success, "unfreeze", "-t", "web1")
}

// ranThere is a command of a host's history.
type ranThere struct {
	ID      int
	Action  string
	Started int64
}

func (d *desk) lastCommand(target string) ranThere {
	d.t.Helper()
	var doc struct{ Commands []ranThere }
	if err := json.Unmarshal([]byte(d.fettle(success, "log", "-t", target, "--json").out), &doc); err != nil ||
		len(doc.Commands) == 0 {
		d.t.Fatalf("no history: %v", err)
	}
	return doc.Commands[0]
}

// runRebootInBatches: the second host goes down when the first one is back.
func runRebootInBatches(d *desk, ms []*machine) {
	two, three := ms[1].Boots(), ms[2].Boots()
	d.says(d.fettle(success, "reboot", "-t", "web2,web3", "--batch", "1", "--max-failed", "0", "--yes", "--timeout",
		"3m"), "2 rebooted")
	if ms[1].Boots() != two+1 || ms[2].Boots() != three+1 {
		d.t.Errorf("boots %d and %d, then %d and %d", two, three, ms[1].Boots(), ms[2].Boots())
	}
	back, err := strconv.ParseInt(strings.Trim(ms[1].Run(d.t, "systemctl", "show", "-P", "UserspaceTimestamp",
		"--timestamp=unix"), "@\n"), 10, 64)
	c := d.lastCommand("web3")
	if err != nil || c.Action != "reboot" || time.Unix(0, c.Started).Before(time.Unix(back, 0)) {
		d.t.Errorf("web3 was told (%s) at %s, and web2 booted at %s (%v)", c.Action, time.Unix(0, c.Started),
			time.Unix(back, 0), err)
	}
}

// runWaitForUnit: a unit that comes later is waited for, on all hosts; one that does
// not come is given up, and told by its name.
func runWaitForUnit(d *desk, ms []*machine) {
	for _, m := range ms[:2] {
		m.Run(d.t, "systemd-run", "-q", "--on-active=2", "--timer-property=AccuracySec=100ms", "--unit=late",
			"--remain-after-exit", "true")
		if m.Exec("systemctl", "is-active", "late.service").ExitCode == 0 {
			d.t.Fatal("it is there already")
		}
	}
	d.says(d.fettle(success, "wait", "-t", "web[12]", "--for", "unit=late.service", "--timeout", "1m"), "2 ready")
	ms[0].Run(d.t, "systemctl", "is-active", "late.service")
	o := d.fettle(failed, "wait", "-t", "web*", "--for", "unit=late.service", "--timeout", "2s", "--json")
	if strings.Count(o.out, `"status":"ok"`) != 2 ||
		!strings.Contains(o.out, "cannot wait longer than 2s for unit=late.service") {
		d.t.Error("it does not tell who is ready and who is not")
	}
}
