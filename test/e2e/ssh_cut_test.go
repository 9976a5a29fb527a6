package e2e

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// cutBeforeHello: who waits for a host that does not begin can give up.
func cutBeforeHello(d *desk, m *machine) {
	m.Run(d.t, "rm", "-rf", "/root/.cache")
	m.WriteFile(d.t, "/root/.ssh/rc", waits+"\n", 0o755)
	m.Run(d.t, "rm", "-f", "/run/waits", "/run/go")
	d.targets("ssh {}", waitStep)
	p := d.begin("apply", "--yes", "-t", "web1")
	m.awaitMiddle(p)
	_ = p.Process.Signal(os.Interrupt)
	if d.end(p) != failed || !strings.Contains(p.out.String(), "interrupted") {
		d.t.Error("it was not interrupted")
	}
	m.goOn()
	m.Run(d.t, "rm", "/root/.ssh/rc")
	m.awaitNobody()
	if len(m.programs("/root")) > 0 || m.has("/var/lib/fettle") {
		d.t.Error("something was left behind")
	}
}

// cutUpload: half a program is never run, and goes.
func cutUpload(d *desk, m *machine) {
	m.Run(d.t, "rm", "-rf", "/root/.cache")
	m.WriteFile(d.t, "/usr/local/bin/gzip", "#!/bin/sh\n"+waits+"\nexec /usr/bin/gzip \"$@\"\n", 0o755)
	m.Run(d.t, "rm", "-f", "/run/waits", "/run/go")
	d.targets("ssh {}", waitStep)
	p := d.begin("plan", "-t", "web1")
	m.awaitMiddle(p)
	m.Run(d.t, "pkill", "-KILL", "-f", "^sshd(-session)?: root@")
	if d.end(p) != failed {
		d.t.Error("nobody noticed")
	}
	m.goOn()
	m.awaitNobody()
	if got := m.programs("/root"); len(got) > 0 {
		d.t.Errorf("half a program stays: %v", got)
	}
	m.Run(d.t, "rm", "/usr/local/bin/gzip")

	m.WriteFile(d.t, "/root/.cache/fettle/fettle-old.77", "of a machine that lost its power", 0o700)
	m.Run(d.t, "touch", "-d", "2 hours ago", "/root/.cache/fettle/fettle-old.77")
	d.fettle(changes, "plan", "-t", "web1")
	m.theProgram(d)
}

// awaitNobody waits until nothing of a connection runs any more.
func (m *machine) awaitNobody() {
	m.t.Helper()
	m.await("the end of what was started", func() bool {
		return m.Exec("pgrep", "-f", "serve-stdio|fettle-boot|base64 -d").ExitCode != 0
	})
}

// heldUpFrom starts an apply from the desk and waits until it is in the middle.
func (d *desk) heldUpFrom(m *machine, text string, args ...string) *process {
	d.t.Helper()
	m.Run(d.t, "rm", "-f", "/run/waits", "/run/go")
	d.targets("ssh {}", text)
	p := d.begin(append([]string{"apply", "--yes", "-t", "web1"}, args...)...)
	m.awaitMiddle(p)
	return p
}

// cutFinish: the run goes on to its end, and tells so once to who comes next.
func cutFinish(d *desk, m *machine) {
	for name, cut := range d.cuts(m) {
		p := d.heldUpFrom(m, waitStep)
		cut(p)
		d.end(p)
		m.goOn()
		m.awaitNobody()
		m.want("new", "cat", "/etc/story/after")
		d.says(d.fettle(success, "status", "-t", "web1"), "a run continued after its connection was lost", "succeeded",
			"4 changed", "fettle apply --yes -t web1")
		d.saysNot(d.fettle(success, "drift", "-t", "web1"), "connection was lost")
		d.says(d.fettle(success, "apply", "--yes", "-t", "web1"), "No changes were necessary")
		d.fettle(success, "rollback", "origin", "--yes", "-t", "web1")
		d.t.Logf("%s is survived", name)
	}
}

// cuts are ways to lose a connection.
func (d *desk) cuts(m *machine) map[string]func(*process) {
	return map[string]func(*process){
		"the death of who asked": func(p *process) { _ = p.Process.Kill() },
		"the death of ssh":       func(*process) { d.must("pkill", "-KILL", "-f", "^ssh(: | .*=)"+d.at("run")) },
		"the death of sshd's session": func(p *process) {
			m.Run(d.t, "pkill", "-KILL", "-f", "^sshd(-session)?: root@")
			d.end(p)
			if !strings.Contains(p.out.String(),
				"A run that had started there continues. See its result: fettle status -t web1") ||
				p.ProcessState.ExitCode() != failed {
				d.t.Error("it does not say that the connection was lost")
			}
		},
	}
}

// cutStop: the run ends cleanly, as by an interrupt.
func cutStop(d *desk, m *machine) {
	p := d.heldUpFrom(m, waitStep, "--on-disconnect", "stop")
	m.Run(d.t, "pkill", "-KILL", "-f", "^sshd(-session)?: root@")
	d.end(p)
	m.awaitNobody()
	if !m.has("/etc/story/before") || m.has("/etc/story/after") {
		d.t.Error("it did not stop in the middle")
	}
	d.says(d.fettle(success, "status", "-t", "web1"), "a run continued after its connection was lost",
		"run 1: interrupted")
	d.saysNot(d.fettle(success, "status", "-t", "web1"), "a run continued after", "did not end")
	m.goOn()
	d.fettle(success, "apply", "--yes", "-t", "web1")
	m.want("new", "cat", "/etc/story/after")
	d.fettle(success, "rollback", "origin", "--yes", "-t", "web1")
}

// cutUndo: the host is as it was before, byte by byte.
func cutUndo(d *desk, m *machine) {
	m.WriteFile(d.t, "/etc/story/before", "somebody else's\n", 0o640)
	a := &ann{machine: m}
	before := a.settings()
	p := d.heldUpFrom(m, waitStep, "--on-disconnect", "undo")
	m.want("new", "cat", "/etc/story/before")
	m.Run(d.t, "pkill", "-KILL", "-f", "^sshd(-session)?: root@")
	d.end(p)
	m.awaitNobody()
	if after := a.settings(); after != before {
		d.t.Errorf("not all is as it was before:\n%s", differing(before, after))
	}
	d.says(d.fettle(success, "status", "-t", "web1"), "connection was lost")
	d.says(d.fettle(success, "log", "-t", "web1"), "rollback")
}

// serverKilled: what was killed on the host is settled by who comes next.
func serverKilled(d *desk, m *machine) {
	p := d.heldUpFrom(m, waitStep)
	m.Run(d.t, "pkill", "-KILL", "-f", "serve-stdio")
	if d.end(p) != failed || !strings.Contains(p.out.String(), "connection was lost") {
		d.t.Error("it does not say that the connection was lost")
	}
	m.await("the end of its command", func() bool { return m.Exec("pgrep", "-f", "touch /run/waits").ExitCode != 0 })
	d.says(d.fettle(success, "status", "-t", "web1"), "did not end")
	m.goOn()
	d.fettle(success, "apply", "--yes", "-t", "web1")
	m.want("new", "cat", "/etc/story/after")
	d.fettle(success, "rollback", "origin", "--yes", "-t", "web1")
}

// lockedOverSSH: a second one is told who is at work, since when and at what.
func lockedOverSSH(d *desk, m *machine) {
	p := d.heldUpFrom(m, waitStep)
	o := d.fettle(locked, "apply", "--yes", "-t", "web1")
	d.says(o, "ann", "fettle apply --yes -t web1", "since")
	d.says(d.fettle(success, "status", "-t", "web1"), "is in progress")
	m.goOn()
	if d.end(p) != success {
		d.t.Error("the first one failed")
	}
	d.fettle(success, "rollback", "origin", "--yes", "-t", "web1")
}

// cutEverywhere breaks the line after so and so many bytes of a first contact that
// brings a program and content, and demands that the next contact mends it all.
func cutEverywhere(d *desk, m *machine) {
	n := newLine(d.t, m)
	was := d.get(".ssh/config")
	d.goesOver(n, m)
	defer func() { d.put(".ssh/config", was, 0o600) }()
	big := random(4 << 20)
	d.targets("ssh {}", `file "/etc/big" { source = "big" }`)
	d.put("repo/big", big, 0o644)

	m.Run(d.t, "rm", "-rf", "/root/.cache")
	n.breaksAfter(0)
	d.fettle(success, "apply", "--yes", "-t", "web1")
	all := n.sent.Load()
	points := 3
	if os.Getenv("FETTLE_LONG") != "" {
		points = 60
	}
	for i := range points {
		d.hangUp()
		m.awaitNobody()
		m.Run(d.t, "rm", "-rf", "/root/.cache", "/var/lib/fettle", "/etc/big")
		at := 3000 + (all-3000)*int64(i)/int64(points)
		n.breaksAfter(at)
		d.t.Logf("the line breaks after %d of %d bytes", at, all)
		d.fettle(failed, "apply", "--yes", "-t", "web1")
		m.awaitNobody()
		if got := m.programs("/root"); len(got) > 1 || strings.Contains(strings.Join(got, ""), ".") {
			d.t.Errorf("the cache has %v", got)
		}
		if m.has("/etc/big") {
			d.t.Error("a run began without all that it needs")
		}
		n.breaksAfter(0)
		d.hangUp()
		d.fettle(success, "apply", "--yes", "-t", "web1")
		m.want(fmt.Sprint(len(big)), "stat", "-c", "%s", "/etc/big")
	}
}

// noticed is how long a line that carries nothing any more may stay unnoticed: the
// minute that is promised, on a machine that has other things to do.
const noticed = 80 * time.Second

// cutSilently: packets that are dropped without a word are noticed at both ends, while
// the program comes, while content comes and in the middle of a run.
func cutSilently(d *desk, m *machine) {
	d.targets("ssh {}", `file "/etc/big" { source = "big" }`)
	d.put("repo/big", random(24<<20), 0o644)
	apply := []string{"apply", "--yes", "-t", "web1"}
	m.Run(d.t, "rm", "-rf", "/root/.cache")
	for _, megabytes := range []int{3, 20} {
		whole := d.drops(m, megabytes)
		began := time.Now()
		d.fettle(failed, apply...)
		d.t.Logf("noticed after %s, while %d MB were sent", time.Since(began), megabytes)
		if time.Since(began) > noticed {
			d.t.Error("it took too long to notice")
		}
		whole()
		d.hangUp()
		if m.has("/etc/big") {
			d.t.Error("a run began without all that it needs")
		}
	}
	m.awaitLong("the end of what serves", func() bool { return m.Exec("pgrep", "-f", "serve-stdio").ExitCode != 0 })
	d.fettle(success, apply...)
	d.fettle(success, "rollback", "origin", "--yes", "-t", "web1")
	cutSilentlyInARun(d, m)
}

func cutSilentlyInARun(d *desk, m *machine) {
	p := d.heldUpFrom(m, waitStep)
	whole := d.drops(m, 0)
	began := time.Now()
	if d.end(p) != failed || time.Since(began) > noticed {
		d.t.Errorf("it took %s to notice", time.Since(began))
	}
	d.t.Logf("noticed after %s, in a run", time.Since(began))
	m.goOn()
	m.awaitLong("the end of what serves", func() bool { return m.Exec("pgrep", "-f", "serve-stdio").ExitCode != 0 })
	whole()
	d.hangUp()
	m.want("new", "cat", "/etc/story/after")
	d.says(d.fettle(success, "status", "-t", "web1"), "a run continued after its connection was lost", "succeeded")
	d.saysNot(d.fettle(success, "status", "-t", "web1"), "a run continued after its connection was lost")
	d.fettle(success, "rollback", "origin", "--yes", "-t", "web1")
}

// drops has the network drop all packets between the desk and a host, without a word,
// once so many megabytes have gone there.
func (d *desk) drops(m *machine, megabytes int) (whole func()) {
	d.t.Helper()
	rules := "table inet fettle-drop {\n chain out {\n type filter hook output priority 0;\n ip daddr %s quota over %d mbytes drop\n }\n}\n"
	if megabytes == 0 {
		rules = "table inet fettle-drop {\n chain in {\n type filter hook input priority 0;\n ip saddr %[1]s drop\n }\n chain out {\n type filter hook output priority 0;\n ip daddr %[1]s drop\n }\n}\n"
		rules = fmt.Sprintf(rules, m.Addr)
	} else {
		rules = fmt.Sprintf(rules, m.Addr, megabytes)
	}
	d.put("drop.nft", rules, 0o600)
	d.must("nft", "-f", d.at("drop.nft"))
	return sync.OnceFunc(func() { d.must("nft", "delete", "table", "inet", "fettle-drop") })
}

// awaitLong is await for what takes minutes.
func (m *machine) awaitLong(what string, ok func() bool) {
	m.t.Helper()
	for end := time.Now().Add(10 * time.Minute); !ok(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			m.t.Fatalf("%s: %s did not come", m.Name, what)
		}
	}
}
