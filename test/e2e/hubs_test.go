package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fettle.dev/fettle/test/gobuild"
	"fettle.dev/fettle/test/hosts"
	"fettle.dev/fettle/test/sample"
)

// hubsOf is a fleet of several hubs, on hosts of their own.
type hubsOf struct {
	t      *testing.T
	hubs   []*machine
	agents []*machine
	// given are the texts that agents got, oldest first.
	given []string
	// policy is at the top of the repository, and module is the module of the agents, with TEXT for the text;
	// "" is the default of both.
	policy, module string
}

// TestHubs makes a fleet of three hubs as the documents say. The one that leads is killed
// while agents apply, and again while it assigns: another one leads, each agent does each
// thing once, and the one that was killed comes back. They get another program, one after
// the other. Then one is stolen, and nobody believes it any more; of the two that are left
// one is lost with all that it kept, and its machine is another hub, which leaves.
func TestHubs(t *testing.T) {
	sample.Group(t, 7)
	t.Parallel()
	newer := buildProgram(t, gobuild.Fettle, "9.0")
	f := newFleetOfHubs(t, 3, 2)
	for _, h := range f.hubs {
		h.Copy(t, newer, "/root/newer")
	}
	f.begin()
	for _, s := range []struct {
		name string
		f    func(*hubsOf)
	}{{"KilledWhileAgentsApply", killedWhileAgentsApply}, {"KilledWhileItAssigns", killedWhileItAssigns},
		{"Upgraded", hubsUpgraded},
		{"OnceEach", onceEach}, {"Stolen", hubStolen}, {"StillOnceEach", stillOnceEach}, {"OneOfTwo", oneOfTwo},
		{"Leaves", hubLeaves}, {"OnceInAll", onceInAll}} {
		ok := t.Run(s.name, func(t *testing.T) {
			g := f.with(t)
			s.f(g)
			f.given = g.given
		})
		if !ok {
			return // what follows stands on it
		}
	}
}

// newFleetOfHubs boots the hosts of a fleet with hubs and agents.
func newFleetOfHubs(t *testing.T, hubs, agents int) *hubsOf {
	t.Helper()
	repo := hosts.NewRepo(t)
	repo.AddDebian(t)
	repo.Publish(t)
	w := hosts.NewWorld(t)
	ms := make([]*machine, hubs+agents)
	var all sync.WaitGroup
	for i := range ms {
		all.Go(func() {
			name := fmt.Sprintf("hub%d", i+1)
			if i >= hubs {
				name = fmt.Sprintf("web%d", i-hubs+1)
			}
			ms[i] = newMachine(t, w, name, repo)
			if i < hubs {
				ms[i].Run(t, "apt-get", "install", "-qy", "git")
			}
			ms[i].units()
		})
	}
	all.Wait()
	return &hubsOf{t: t, hubs: ms[:hubs], agents: ms[hubs:]}
}

// with returns the fleet for the test of a part.
func (f *hubsOf) with(t *testing.T) *hubsOf {
	g := &hubsOf{t: t, given: slices.Clone(f.given), policy: f.policy, module: f.module}
	for _, h := range f.hubs {
		g.hubs = append(g.hubs, h.with(t))
	}
	for _, a := range f.agents {
		g.agents = append(g.agents, a.with(t))
	}
	return g
}

// begin makes the hubs, and enrols the agents at different hubs.
func (f *hubsOf) begin() {
	f.commit("one")
	f.startHubs()
	for i, a := range f.agents {
		f.enrol(a, f.hubs[i%len(f.hubs)], "role=web")
	}
	f.arrived()
}

// startHubs makes the hubs, one after the other. They follow a repository that exists.
func (f *hubsOf) startHubs() {
	f.t.Helper()
	first := f.hubs[0]
	for _, h := range f.hubs {
		h.hubUser()
	}
	first.Run(f.t, "fettle", "hub", "init", "--fleet", "acme", "--address", first.Addr, "--repository",
		"file:///srv/site", "--poll", "2s")
	first.Run(f.t, "systemctl", "enable", "--now", "fettle-hub")
	for i, h := range f.hubs[1:] {
		token := f.output(first, "fettle", "hub", "token")
		r := h.ExecInput(strings.NewReader(token), "fettle", "hub", "join", "https://"+first.Addr+":7440", "--token-file",
			"-", "--address", h.Addr)
		if r.ExitCode != 0 {
			f.t.Fatalf("%s does not join: %s%s%s", h.Name, r.Stdout, r.Stderr, f.situation())
		}
		h.Run(f.t, "systemctl", "enable", "--now", "fettle-hub")
		f.kept(i + 2)
	}
}

// enrol has a hub take an agent in with labels, and starts it.
func (f *hubsOf) enrol(a, hub *machine, labels string) {
	f.t.Helper()
	token := f.output(hub, "fettle", "token", "create", "--label", labels)
	r := a.ExecInput(strings.NewReader(token), "fettle", "agent", "enrol", "--hub", "https://"+hub.Addr+":7440",
		"--token-file", "-")
	if r.ExitCode != 0 {
		f.t.Fatalf("%s: %s%s", a.Name, r.Stdout, r.Stderr)
	}
	a.Run(f.t, "systemctl", "enable", "--now", "fettle-agent")
}

// output waits until a command succeeds: a hub may have just begun.
func (f *hubsOf) output(m *machine, argv ...string) (out string) {
	f.t.Helper()
	f.await(m.Name+": "+strings.Join(argv, " "), func() bool {
		r := m.Exec(argv...)
		out = r.Stdout
		return r.ExitCode == 0
	})
	return out
}

// counts is a module that records when it begins to apply a text, and when it has applied it.
const counts = `file "/etc/motd" {
  content = "TEXT\n"
  notify  = [exec.count.run]
}
exec "count" {
  command = ["sh", "-c", "cat /etc/motd >>/var/log/begun; sleep 3; cat /etc/motd >>/var/log/ended"]
  lazy    = true
}
file "/etc/issue.web" { content = "kept\n" }
`

// commit writes a text into the repository of all hubs, as the same commit: it stands for
// a server of git that all of them reach. What it does takes a while, and counts.
func (f *hubsOf) commit(text string) {
	f.t.Helper()
	f.given = append(f.given, text)
	var all sync.WaitGroup
	for _, h := range f.hubs {
		all.Go(func() {
			h.WriteFile(f.t, "/srv/site/fettle.hcl",
				"target_group \"web\" {\n  labels = { role = \"web\" }\n  modules = [\"web\"]\n}\n"+cmp.Or(f.policy, atOnce),
				0o644)
			h.WriteFile(f.t, "/srv/site/modules/web/module.hcl", strings.ReplaceAll(cmp.Or(f.module, counts), "TEXT", text),
				0o644)
			h.Run(f.t, "git", "init", "-q", "-b", "main", "/srv/site")
			h.Run(f.t, "git", "-C", "/srv/site", "add", "-A")
			h.Run(f.t, "env", "GIT_AUTHOR_DATE=2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE=2026-01-01T00:00:00Z",
				"git", "-C", "/srv/site", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", text)
		})
	}
	all.Wait()
}

// lines are those of a file of an agent.
func lines(m *machine, file string) []string { return strings.Fields(m.Exec("cat", file).Stdout) }

// arrived waits until all agents have done what was given last.
func (f *hubsOf) arrived() {
	f.t.Helper()
	last := f.given[len(f.given)-1]
	for _, a := range f.agents {
		f.await(a.Name+" has done "+last, func() bool {
			done := lines(a, "/var/log/ended")
			return len(done) > 0 && done[len(done)-1] == last
		})
	}
}

// situation describes all hubs and agents.
func (f *hubsOf) situation() string { return situation(f.hubs, f.agents) }

func (f *hubsOf) await(what string, holds func() bool) {
	f.t.Helper()
	for end := time.Now().Add(2 * time.Minute); !holds(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			f.t.Fatalf("%s: never%s", what, f.situation())
		}
	}
}

// hubPage is what a hub knows of all.
type hubPage struct {
	Hubs []struct {
		Name  string `json:"name"`
		Leads bool   `json:"leads"`
		Here  bool   `json:"here"`
	} `json:"hubs"`
	Copies int  `json:"copies"`
	Whole  bool `json:"whole"`
}

func (f *hubsOf) page(by *machine) (p hubPage) {
	if r := by.Exec("fettle", "hub", "list", "--json"); r.ExitCode == 0 && json.Unmarshal([]byte(r.Stdout), &p) == nil {
		return p
	}
	return hubPage{}
}

// kept waits until everything is on as many hubs.
func (f *hubsOf) kept(n int) {
	f.t.Helper()
	f.await("everything is kept", func() bool {
		p := f.page(f.hubs[0])
		return p.Whole && p.Copies == min(n, 3) && len(p.Hubs) == n
	})
}

// leader waits until one leads that is not another one, as a hub sees it that lives.
func (f *hubsOf) leader(not *machine) (leads *machine) {
	f.t.Helper()
	f.await("somebody leads", func() bool {
		for _, by := range f.hubs {
			if by == not {
				continue
			}
			for _, h := range f.page(by).Hubs {
				for _, m := range f.hubs {
					if m != not && h.Leads && h.Name == m.Name {
						leads = m
						return true
					}
				}
			}
		}
		return false
	})
	return leads
}

// killedWhileAgentsApply: agents end what they began, and tell another hub; commits go on
// without the one that is gone, and it comes back.
func killedWhileAgentsApply(f *hubsOf) {
	leads := f.leader(nil)
	f.commit("two")
	f.await("web1 applies", func() bool { return len(lines(f.agents[0], "/var/log/begun")) == 2 })
	began := time.Now()
	leads.Run(f.t, "systemctl", "kill", "-s", "KILL", "fettle-hub")
	leads.Run(f.t, "systemctl", "stop", "fettle-hub")
	f.arrived()
	next := f.leader(leads)
	f.t.Logf("%s leads after %s, %s is gone", next.Name, time.Since(began).Round(time.Millisecond), leads.Name)
	began = time.Now()
	f.commit("three")
	f.arrived()
	f.t.Logf("from git to both agents in %s, without %s", time.Since(began).Round(time.Millisecond), leads.Name)
	leads.Run(f.t, "systemctl", "start", "fettle-hub")
	f.kept(3)
}

// killedWhileItAssigns: systemd starts it again at once, and whoever leads then gives out
// what was not.
func killedWhileItAssigns(f *hubsOf) {
	leads := f.leader(nil)
	f.commit("four")
	leads.Run(f.t, "systemctl", "kill", "-s", "KILL", "fettle-hub")
	f.arrived()
	f.kept(3)
}

// onceEach: each agent did each thing once, in order, and each hub tells the same of it.
func onceEach(f *hubsOf) {
	onceInAll(f)
	for _, a := range f.agents {
		for _, h := range f.hubs {
			f.await(h.Name+" tells all of "+a.Name, func() bool {
				granted, applied := f.history(h, a)
				return granted == len(f.given) && applied == len(f.given)
			})
		}
	}
}

// onceInAll: each agent did each thing once, in order.
func onceInAll(f *hubsOf) {
	want := strings.Join(f.given, " ")
	for _, a := range f.agents {
		for _, file := range []string{"/var/log/begun", "/var/log/ended"} {
			if got := strings.Join(lines(a, file), " "); got != want {
				f.t.Errorf("%s has done %q (%s), want %q", a.Name, got, file, want)
			}
		}
	}
}

// stillOnceEach is onceEach of the hubs that are left.
func stillOnceEach(f *hubsOf) {
	f.hubs = []*machine{f.hubs[0], f.hubs[2]}
	onceEach(f)
}

// history counts what a hub tells: assignments that were given, and runs that changed
// something.
func (f *hubsOf) history(h, a *machine) (accepted, applied int) {
	var p struct {
		Events []struct {
			Kind    string `json:"kind"`
			Changes int    `json:"changes"`
		} `json:"events"`
	}
	r := h.Exec("fettle", "target", "history", a.Name, "--json")
	if r.ExitCode != 0 || json.Unmarshal([]byte(r.Stdout), &p) != nil {
		return 0, 0
	}
	for _, e := range p.Events {
		switch {
		case e.Kind == "accepted":
			accepted++
		case e.Kind == "applied" && e.Changes > 0:
			applied++
		}
	}
	return accepted, applied
}

// hubStolen: a hub whose keys somebody else may have is out at once, and does not come back.
// The agent whose certificate it made gets another one.
func hubStolen(f *hubsOf) {
	lost := f.hubs[1]
	lost.Run(f.t, "systemctl", "stop", "fettle-hub")
	f.hubs[0].Run(f.t, "fettle", "hub", "retire", "hub2", "--lost", "--reason", "stolen", "--yes")
	f.kept(2)
	f.agents[1].Run(f.t, "systemctl", "restart", "fettle-agent")
	f.commit("stolen")
	f.arrived()
	lost.Run(f.t, "systemctl", "start", "--no-block", "fettle-hub")
	f.await("it is refused", func() bool {
		return strings.Contains(lost.Exec("journalctl", "-u", "fettle-hub", "-o", "cat").Stdout, "tls: bad certificate")
	})
	if r := lost.Exec("fettle", "hub", "list"); r.ExitCode == 0 {
		f.t.Errorf("it serves: %s", r.Stdout)
	}
	if state := lost.Exec("systemctl", "is-active", "fettle-hub").Stdout; state != "activating\n" {
		f.t.Errorf("the service of a hub that does not serve is %s", state)
	}
	lost.Run(f.t, "systemctl", "disable", "--now", "fettle-hub")
}

// hubLeaves: the others get all, agents go to them, and the one that is out stays out.
func hubLeaves(f *hubsOf) {
	third := f.hubs[2]
	third.Run(f.t, "fettle", "hub", "retire", "--yes")
	f.kept(1)
	f.await("it has stopped", func() bool {
		return strings.TrimSpace(third.Exec("systemctl", "show", "-P", "ActiveState", "fettle-hub").Stdout) == "inactive"
	})
	f.commit("left")
	f.arrived()
	r := third.Exec("fettle", "hub", "run")
	if r.ExitCode != 1 || !strings.Contains(r.Stderr, "this hub was retired") {
		f.t.Errorf("it runs again: %d %s%s", r.ExitCode, r.Stdout, r.Stderr)
	}
	f.t.Logf("%s", f.hubs[0].Exec("fettle", "hub", "list").Stdout)
}
