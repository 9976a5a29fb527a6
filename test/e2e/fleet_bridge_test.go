package e2e

import (
	"encoding/json"
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

// bridgedSite is what the repository of a fleet says of two hosts that have nothing but
// sshd.
const bridgedSite = atOnce + `
target "web1" {
  labels = { role = "web" }
  ssh {}
}
target "web2" {
  labels = { role = "web" }
  ssh {}
}
target_group "web" {
  labels  = { role = "web" }
  modules = ["web"]
}
`

// motdOf is the module of the fleet.
func motdOf(text string) string { return "file \"/etc/motd\" { content = \"" + text + "\\n\" }\n" }

// bridge is a desk from which somebody works on the targets of a fleet: over SSH until
// they have agents, and then through the hub.
type bridge struct {
	*desk
	fleet *fleetOf
}

func (b *bridge) web(i int) *machine { return b.fleet.agents[i].with(b.t) }

// TestBridge: one command makes a fleet of bare hosts, and all that works over SSH works
// through the hub as well.
func TestBridge(t *testing.T) {
	sample.Group(t, 7)
	t.Parallel()
	repo := hosts.NewRepo(t)
	repo.AddDebian(t)
	repo.Publish(t)
	d := newDesk(t)
	w := hosts.NewWorld(t)
	f := &fleetOf{t: t, agents: make([]*machine, 2)}
	var all sync.WaitGroup
	all.Go(func() { f.hub = newMachine(t, w, "hub", repo) })
	for i, name := range []string{"web1", "web2"} {
		all.Go(func() { f.agents[i] = plainMachine(d, w, name, repo) })
	}
	all.Wait()
	b := &bridge{d, f}
	b.begin()
	for _, s := range []struct {
		name string
		f    func(*bridge)
	}{{"Enrol", bridgeEnrol}, {"Work", bridgeWork}, {"Kept", bridgeKept}, {"Content", bridgeContent},
		{"HubKilled", bridgeHubKilled}, {"Stopped", bridgeStopped}, {"Reader", bridgeReader}, {"Reboot", bridgeReboot}} {
		t.Run(s.name, func(t *testing.T) {
			g := &fleetOf{t: t, hub: f.hub.with(t)}
			for _, a := range f.agents {
				g.agents = append(g.agents, a.with(t))
			}
			s.f(&bridge{d.with(t), g})
		})
	}
}

// begin makes the hub, with a person who works from the desk.
func (b *bridge) begin() {
	h := b.fleet.hub
	h.Run(b.t, "apt-get", "install", "-qy", "git")
	b.push("one")
	h.hubUser()
	h.Run(b.t, "fettle", "hub", "init", "--fleet", "acme", "--address", h.Addr, "--repository", "file:///srv/site",
		"--poll", "5s")
	h.Run(b.t, "systemd-run", "--unit=fettle-hub", "-p", "Restart=always", "/usr/bin/env", "fettle", "hub", "run")
	b.fleet.await("the hub", func() bool { return h.Exec("fettle", "status", "--fleet").ExitCode == 0 })
	h.want("fettle-hub", "stat", "-c", "%U", "/run/fettle-hub/hub.sock") // root continues as the owner of the directory
	b.login("ann", "admin")
	for _, m := range b.fleet.agents {
		b.knows(m, "root")
	}
}

// push commits a text into the hub's repository, and puts the same on the desk.
func (b *bridge) push(text string) {
	h := b.fleet.hub
	h.WriteFile(b.t, "/srv/site/fettle.hcl", bridgedSite, 0o644)
	h.WriteFile(b.t, "/srv/site/modules/web/module.hcl", motdOf(text), 0o644)
	h.Run(b.t, "git", "init", "-q", "-b", "main", "/srv/site")
	h.Run(b.t, "git", "-C", "/srv/site", "add", "-A")
	h.Run(b.t, "git", "-C", "/srv/site", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", text)
	b.site(motdOf(text))
}

// site is the repository of the desk, with this module.
func (b *bridge) site(module string) {
	b.repo(map[string]string{"fettle.hcl": bridgedSite, "modules/web/module.hcl": module})
}

func (b *bridge) login(name, role string) {
	b.t.Helper()
	h := b.fleet.hub
	h.Run(b.t, "fettle", "user", "set", name, "--role", role)
	var doc struct{ Secret string }
	if err := json.Unmarshal([]byte(h.Run(b.t, "fettle", "user", "login", name, "--json")), &doc); err != nil {
		b.t.Fatal(err)
	}
	url := "https://" + h.Addr + ":7440"
	_, rest, _ := strings.Cut(b.desk.fettle(failed, "login", url).all(), "--ca-digest ")
	authority := strings.Fields(rest)[0]
	cmd := b.command(b.bin, "login", url, "--ca-digest", authority)
	cmd.Stdin = strings.NewReader(doc.Secret)
	if out, err := cmd.CombinedOutput(); err != nil {
		b.t.Fatalf("%v\n%s", err, out)
	}
}

// bridgeEnrol: bare hosts are in the fleet with one command, and as they should be. Doing
// it again does nothing, and mends what is missing.
func bridgeEnrol(b *bridge) {
	out := b.fettle(success, "target", "enrol", "-t", "label:role=web")
	b.says(out, "2 targets enrolled: web1, web2", "with this binary in /usr/bin/fettle")
	b.fleet.motd("one")
	b.fleet.ready()
	for i := range b.fleet.agents {
		m := b.web(i)
		m.want("enabled", "systemctl", "is-enabled", "fettle-agent")
		if m.Exec("sh", "-c", "grep -rF fettle-token /var/lib/fettle /root /tmp /run 2>/dev/null").ExitCode == 0 {
			b.t.Error("a token lies about")
		}
	}
	b.says(b.fettle(success, "target", "enrol", "-t", "web1,web2"), "2 targets enrolled before: web1, web2")
	b.says(b.fettle(success, "target", "enrol", "-t", "web1", "--replace-applied-state"),
		"its agent replaces the applied state")
	b.fleet.ready()
	b.web(0).Run(b.t, "systemctl", "disable", "--now", "fettle-agent")
	b.fettle(success, "target", "enrol", "-t", "web1")
	b.web(0).want("active", "systemctl", "is-active", "fettle-agent")
	b.fettle(success, "target", "retire", "web2", "--yes")
	b.says(b.fettle(success, "target", "enrol", "-t", "web2"), "1 target enrolled: web2")
	b.fleet.ready()
	if tokens := b.fettle(success, "token", "list").all(); strings.Contains(tokens, "0 of 1") {
		b.t.Errorf("a token is left over:\n%s", tokens)
	}
}

// bridgeWork: what works over SSH works through the hub, from the desk and on the hub.
func bridgeWork(b *bridge) {
	b.says(b.fettle(success, "run", "-t", "web*", "--via", "hub", "--read-only", "--", "hostname"), "web1 | web1",
		"web2 | web2")
	b.fettle(7, "run", "-t", "web1", "--via", "hub", "--", "sh", "-c", "exit 7")
	b.says(b.fettle(success, "facts", "-t", "web1", "--via", "hub", "hostname"), "web1")
	b.fettle(success, "plan", "-t", "label:role=web", "--via", "hub")
	b.fettle(success, "drift", "-t", "web1", "--via", "hub")
	b.fettle(success, "status", "-t", "web*", "--via", "hub")
	b.says(b.fettle(success, "log", "-t", "web1", "--via", "hub"), "agent")
	b.put("copied", "text\n", 0o644)
	b.fettle(success, "copy", "-t", "web*", "--via", "hub", b.at("copied"), "/root/")
	b.web(1).want("text", "cat", "/root/copied")
	b.fettle(success, "wait", "-t", "web*", "--via", "hub", "--for", "unit=fettle-agent.service")
	b.says(b.fettle(failed, "run", "-t", "web9", "--via", "hub", "--", "true"), "the fleet has no such target")
	// On the hub itself by the socket, without a repository.
	h := b.fleet.hub
	if out := h.Run(b.t, "fettle", "run", "-t", "label:role=web", "--read-only", "--",
		"hostname"); !strings.Contains(out, "2 targets succeeded") {
		b.t.Errorf("%s", out)
	}
	log := h.Run(b.t, "cat", "/var/lib/fettle-hub/audit.log")
	for _, want := range []string{`"who":"ann","how":"token`, `/v1/targets/{target}/work","on":"web1","outcome":"begun"`,
		`run -t web1 --via hub -- sh -c`} {
		if !strings.Contains(log, want) {
			b.t.Errorf("the audit log has no %s", want)
		}
	}
}

// bridgeKept: what is not what the fleet assigned is not applied, and where somebody
// insists the agent takes it back.
func bridgeKept(b *bridge) {
	b.site(motdOf("other"))
	b.says(b.fettle(failed, "apply", "-t", "web1", "--via", "hub", "--yes"), "an agent manages web1 at",
		"fettle target pin web1")
	b.says(b.fettle(failed, "apply", "-t", "web1", "--yes"), "an agent manages web1 at") // over SSH too
	b.fettle(success, "apply", "-t", "web1", "--via", "hub", "--yes", "--override-agent")
	b.fleet.motd("one")
	b.site(motdOf("one"))
	b.fettle(success, "apply", "-t", "web*", "--via", "hub", "--yes")
}

// bridgeContent: large content goes through the hub, which keeps none of it.
func bridgeContent(b *bridge) {
	size := 64
	if os.Getenv("FETTLE_LONG") != "" {
		size = 1024
	}
	before := b.memory()
	b.must("dd", "if=/dev/urandom", "of="+b.at("large"), "bs=1M", fmt.Sprintf("count=%d", size), "status=none")
	began := time.Now()
	b.fettle(success, "copy", "-t", "web1", "--via", "hub", b.at("large"), "/root/large")
	b.t.Logf("%d MB in %s; the hub's memory was at most %d MB and is %d MB more", size,
		time.Since(began).Round(time.Millisecond), b.memory()>>10, (b.memory()-before)>>10)
	sum := func(text string) string { return strings.Fields(text)[0] }
	if here, there := sum(b.must("sha256sum", b.at("large"))),
		sum(b.web(0).Run(b.t, "sha256sum", "/root/large")); here != there {
		b.t.Error("it came as something else")
	}
	if more := b.memory() - before; more > 64<<10 {
		b.t.Errorf("the hub grew by %d KB", more)
	}
	b.fettle(success, "copy", "--from", "-t", "web1", "--via", "hub", "/root/large", b.at("back"))
	b.must("cmp", b.at("large"), b.at("back"))
	_ = os.Remove(b.at("large"))
	_ = os.Remove(b.at("back"))
	b.web(0).Run(b.t, "rm", "/root/large")
}

// memory is the most that the hub had at any time, in KB.
func (b *bridge) memory() int {
	var n int
	h := b.fleet.hub
	pid := strings.TrimSpace(h.Run(b.t, "systemctl", "show", "-P", "MainPID", "fettle-hub"))
	_, rest, _ := strings.Cut(h.ReadFile(b.t, filepath.Join("/proc", pid, "status")), "VmHWM:")
	_, _ = fmt.Sscanf(rest, "%d", &n)
	return n
}

// heldUp starts an apply through the hub and waits until it is in the middle.
func (b *bridge) heldUp(args ...string) (*process, *machine) {
	m := b.web(0)
	m.Run(b.t, "rm", "-f", "/run/waits", "/run/go")
	b.site(motdOf("one") + waitStep)
	m.await("the end of the agent's run", func() bool {
		return m.Exec("flock", "--nonblock", "/var/lib/fettle/lock", "true").ExitCode == 0
	})
	p := b.desk.begin(append([]string{"apply", "--yes", "--override-agent", "-t", "web1", "--via", "hub"}, args...)...)
	m.awaitMiddle(p)
	return p, m
}

// told waits until the next contact tells how a run ended.
func (b *bridge) told(texts ...string) {
	b.t.Helper()
	var said string
	b.fleet.await("the report of the run", func() bool {
		out, _ := b.command(b.bin, "status", "-t", "web1", "--via", "hub").CombinedOutput()
		if strings.Contains(string(out), "a run continued after its connection was lost") {
			said = string(out)
		}
		return said != ""
	})
	for _, text := range texts {
		if !strings.Contains(said, text) {
			b.t.Errorf("the report has no %q:\n%s", text, said)
		}
	}
}

// bridgeHubKilled: a run outlives the hub that it came through, and the next contact
// tells how it ended.
func bridgeHubKilled(b *bridge) {
	p, m := b.heldUp()
	b.says(b.fettle(locked, "apply", "--yes", "--override-agent", "-t", "web1", "--via", "hub"), "apply")
	b.fleet.hub.Run(b.t, "systemctl", "kill", "--signal=KILL", "fettle-hub")
	if code := b.end(p); code != failed || !strings.Contains(p.out.String(), "A run that had started there continues") {
		b.t.Errorf("it ended with %d", code)
	}
	m.goOn()
	b.told("succeeded", "4 changed")
	b.fettle(success, "job", "apply", "-t", "web1")
	b.fleet.await("the agent took it back", func() bool { return !m.has("/etc/story/after") })
}

// bridgeStopped: an interrupt ends a run cleanly, as over SSH.
func bridgeStopped(b *bridge) {
	p, m := b.heldUp()
	_ = p.Process.Signal(os.Interrupt)
	if code := b.end(p); code != failed || !strings.Contains(p.out.String(), "interrupted") {
		b.t.Errorf("it ended with %d", code)
	}
	m.goOn()
	b.fettle(success, "job", "apply", "-t", "web1")
	b.fleet.await("the agent took it back", func() bool { return !m.has("/etc/story/before") })
	b.fleet.ready()
}

// bridgeReader: who may only read looks, and changes nothing.
func bridgeReader(b *bridge) {
	b.login("bob", "read")
	b.fettle(success, "status", "-t", "web1", "--via", "hub")
	b.says(b.fettle(failed, "run", "-t", "web1", "--via", "hub", "--", "touch", "/root/bob"),
		"has only the right to read", "ask an admin of the fleet")
	b.fettle(failed, "freeze", "-t", "web1", "--via", "hub")
	if b.web(0).has("/root/bob") {
		b.t.Error("a reader has changed something")
	}
	b.login("ann", "admin")
}

// bridgeReboot: a target that goes down takes the stream along, and comes back.
func bridgeReboot(b *bridge) {
	b.fettle(success, "reboot", "-t", "web1", "--via", "hub", "--yes")
	b.fleet.ready()
}
