package e2e

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"fettle.dev/fettle/test/hosts"
)

// fleetOf is a hub with agents, on hosts of their own.
type fleetOf struct {
	t      *testing.T
	hub    *machine
	agents []*machine
	module string // of web, with TEXT where its text comes; "" is a file alone
}

// TestFleet makes a fleet of plain hosts as the documents say: a hub with a repository,
// and agents with a token. A push reaches all of them, drift goes away by itself, and a
// hub that is away is missed by nobody.
func TestFleet(t *testing.T) {
	t.Parallel()
	repo := hosts.NewRepo(t)
	repo.AddDebian(t)
	repo.Publish(t)
	w := hosts.NewWorld(t)
	names := []string{"hub", "web1", "web2", "web3", "web4", "web5"}
	ms := make([]*machine, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() { ms[i] = newMachine(t, w, name, repo) })
	}
	all.Wait()
	f := &fleetOf{t: t, hub: ms[0], agents: ms[1:]}
	f.begin()
	for _, s := range []struct {
		name string
		f    func(*fleetOf)
	}{{"Push", fleetPush}, {"Drift", fleetDrift}, {"HubAway", fleetHubAway}, {"Stopped", fleetStopped},
		{"Killed", fleetKilled}, {"Rebooted", fleetRebooted}, {"Signed", fleetSigned}, {"Token", fleetToken},
		{"Revoked", fleetRevoked}} {
		t.Run(s.name, func(t *testing.T) {
			g := &fleetOf{t: t, hub: f.hub.with(t)}
			for _, a := range f.agents {
				g.agents = append(g.agents, a.with(t))
			}
			s.f(g)
		})
	}
}

// with is the machine for the test of a part.
func (m *machine) with(t *testing.T) *machine { return &machine{Host: m.Host, t: t} }

// begin makes the repository, the hub and the agents.
func (f *fleetOf) begin() {
	h := f.hub
	h.Run(f.t, "apt-get", "install", "-qy", "git")
	f.commit("one")
	h.hubUser()
	h.Run(f.t, "fettle", "hub", "init", "--fleet", "acme", "--address", h.Addr, "--repository", "file:///srv/site",
		"--poll", "5s")
	h.units()
	h.Run(f.t, "systemctl", "enable", "--now", "fettle-hub")
	f.await("a token", func() bool { return f.token("role=web", "1") != "" })
	for _, a := range f.agents {
		f.enrol(a, f.token("role=web", "1"), 0)
		a.units()
		a.Run(f.t, "systemctl", "enable", "--now", "fettle-agent")
	}
	f.motd("one")
}

// atOnce lets changes reach all targets at once, for tests about something else than rollouts.
const atOnce = "policy { rollout = \"at-once\" }\n"

// commit writes a text into the module, and commits.
func (f *fleetOf) commit(text string) {
	h := f.hub
	h.WriteFile(f.t, "/srv/site/fettle.hcl",
		"target_group \"web\" {\n  labels = { role = \"web\" }\n  modules = [\"web\"]\n}\n"+atOnce, 0o644)
	module := cmp.Or(f.module, "file \"/etc/motd\" { content = \"TEXT\\n\" }\n")
	h.WriteFile(f.t, "/srv/site/modules/web/module.hcl", strings.ReplaceAll(module, "TEXT", text), 0o644)
	h.Run(f.t, "git", "init", "-q", "-b", "main", "/srv/site")
	h.Run(f.t, "git", "-C", "/srv/site", "add", "-A")
	h.Run(f.t, "git", "-C", "/srv/site", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", text)
}

// token makes one, "" while the hub does not serve.
func (f *fleetOf) token(labels, uses string, more ...string) string {
	r := f.hub.Exec(append([]string{"fettle", "token", "create", "--label", labels, "--uses", uses, "--json"}, more...)...)
	_, rest, found := strings.Cut(r.Stdout, `"secret": "`)
	if r.ExitCode != 0 || !found {
		return ""
	}
	secret, _, _ := strings.Cut(rest, `"`)
	return secret
}

func (f *fleetOf) enrol(m *machine, token string, code int, more ...string) hosts.Result {
	f.t.Helper()
	argv := append([]string{"fettle", "agent", "enrol", "--hub", "https://" + f.hub.Addr + ":7440", "--token-file", "-"},
		more...)
	r := m.ExecInput(strings.NewReader(token), argv...)
	if r.ExitCode != code {
		f.t.Fatalf("%s: enrol gave %d\n%s%s", m.Name, r.ExitCode, r.Stdout, r.Stderr)
	}
	return r
}

// motd waits until all agents have a text.
func (f *fleetOf) motd(text string) {
	f.t.Helper()
	for _, a := range f.agents {
		f.await(a.Name+" has "+text, func() bool { return a.Exec("cat", "/etc/motd").Stdout == text+"\n" })
	}
}

func (f *fleetOf) await(what string, holds func() bool) {
	f.t.Helper()
	for end := time.Now().Add(2 * time.Minute); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			f.t.Fatalf("%s: never%s", what, situation([]*machine{f.hub}, f.agents))
		}
	}
}

// ready waits until the hub shows all agents ready.
func (f *fleetOf) ready() {
	f.t.Helper()
	n := len(f.agents)
	f.await("all are ready", func() bool {
		r := f.hub.Exec("fettle", "status", "--fleet")
		return strings.Contains(r.Stdout, fmt.Sprintf("%d ready", n)) &&
			strings.Contains(r.Stdout, fmt.Sprintf("connected  %d of %d", n, n))
	})
}

func fleetPush(f *fleetOf) {
	f.ready()
	began := time.Now()
	f.commit("two")
	f.motd("two")
	f.t.Logf("from git to all agents in %s", time.Since(began).Round(time.Millisecond))
	f.ready()
	if out := f.hub.Run(f.t, "fettle", "target", "show", "web1"); !strings.Contains(out, "modules/web  ready") ||
		!strings.Contains(out, "generation 2") {
		f.t.Errorf("%s", out)
	}
	// The commit changed only a module. Its run has this commit all the same, and the author.
	a := f.agents[0]
	if out := a.Run(f.t, "fettle", "log", "-n", "1"); !strings.Contains(out, ` "two"`) {
		f.t.Errorf("%s", out)
	}
	if out := a.Run(f.t, "fettle", "show"); !strings.Contains(out, "a <a@b>") ||
		!regexp.MustCompile(`modules/web [0-9a-f]{8} "two"`).MatchString(out) {
		f.t.Errorf("%s", out)
	}
	if out := a.Run(f.t, "fettle", "explain", "/etc/motd"); !strings.Contains(out, `file "/etc/motd" {`) ||
		!strings.Contains(out, `"two" of modules/web`) || !strings.Contains(out, "a <a@b>") {
		f.t.Errorf("%s", out)
	}
	if commit := strings.TrimSpace(f.hub.Run(f.t, "git", "-C", "/srv/site", "rev-parse",
		"HEAD")); !strings.Contains(a.Run(f.t, "fettle", "log", "-n", "1", "--json"), commit) {
		f.t.Errorf("the last run does not have the commit %s", commit)
	}
}

func fleetDrift(f *fleetOf) {
	f.agents[0].byHand("/etc/motd", "by hand\n")
	f.motd("two")
	f.await("the hub is told", func() bool {
		out := f.hub.Exec("fettle", "events").Stdout
		return strings.Contains(out, "web1  drifted modules/web") && strings.Contains(out, "web1  repaired")
	})
}

func fleetHubAway(f *fleetOf) {
	f.hub.Run(f.t, "systemctl", "stop", "fettle-hub")
	f.agents[1].byHand("/etc/motd", "by hand\n")
	f.motd("two")
	f.commit("three")
	f.hub.Run(f.t, "systemctl", "start", "fettle-hub")
	f.motd("three")
	f.await("what happened meanwhile is told", func() bool {
		return strings.Contains(f.hub.Exec("fettle",
			"events").Stdout, "web2  repaired")
	})
}

// fleetStopped: a freeze of the whole fleet is shown first. While it lasts, no agent applies a
// commit or repairs drift, also if the hub restarts; after it, all agents do.
func fleetStopped(f *fleetOf) {
	h, a := f.hub, f.agents[0]
	drifted := func() int {
		return strings.Count(h.Exec("fettle", "target", "history", "web1", "--kind", "drifted", "--json").Stdout,
			`"kind": "drifted"`)
	}
	before := drifted()
	h.Run(f.t, "fettle", "target", "freeze", "--all", "--reason", "the next commit stops nginx")
	f.await("all agents hold the freeze", func() bool {
		out := h.Exec("fettle", "status", "--fleet").Stdout
		return strings.HasPrefix(out, "frozen") && strings.Contains(out, "the next commit stops nginx") &&
			strings.Contains(out, "5 of 5 agents have applied it")
	})
	f.commit("stopped")
	at := strings.TrimSpace(h.Run(f.t, "git", "-C", "/srv/site", "rev-parse", "--short=12", "HEAD"))
	f.await("the hub reads the commit", func() bool {
		return strings.Contains(h.Exec("fettle", "events").Stdout,
			"main is at "+at)
	})
	h.Run(f.t, "systemctl", "restart", "fettle-hub")
	a.WriteFile(f.t, "/etc/motd", "by hand\n", 0o644)
	f.await("the drift is reported", func() bool { return drifted() > before })
	f.await("all agents are connected", func() bool {
		return strings.Contains(h.Exec("fettle", "status", "--fleet").Stdout, "connected  5 of 5")
	})
	for i, want := range []string{"by hand", "three", "three", "three", "three"} {
		if out := strings.TrimSpace(f.agents[i].Run(f.t, "cat", "/etc/motd")); out != want {
			f.t.Errorf("%s has %q, want %q", f.agents[i].Name, out, want)
		}
	}
	h.Run(f.t, "fettle", "target", "unfreeze", "--all")
	f.motd("stopped")
	f.ready()
}

func fleetKilled(f *fleetOf) {
	f.hub.Run(f.t, "systemctl", "kill", "-s", "KILL", "fettle-hub")
	f.agents[0].Run(f.t, "systemctl", "kill", "-s", "KILL", "fettle-agent")
	f.commit("four")
	f.motd("four")
	f.ready()
}

func fleetRebooted(f *fleetOf) {
	a := f.agents[0]
	a.Run(f.t, "systemctl", "disable", "--now", "fettle-agent")
	a.WriteFile(f.t, "/etc/motd", "while it was away\n", 0o644)
	a.Run(f.t, "systemctl", "enable", "fettle-agent")
	f.commit("four and a half")
	a.Reboot(f.t)
	f.motd("four and a half")
	f.commit("four")
	f.motd("four")
	f.ready()
}

// fleetSigned: an agent that is told whom to believe takes nothing that another one signed,
// or nobody, and nothing that is older than what it has.
func fleetSigned(f *fleetOf) {
	h, a := f.hub, f.agents[0]
	h.Run(f.t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "/root/signer")
	a.WriteFile(f.t, "/etc/fettle/allowed_signers", "a@b "+h.Run(f.t, "cat", "/root/signer.pub")+"\n", 0o644)
	f.commit("unsigned")
	f.await("web2 takes it", func() bool { return f.agents[1].Exec("cat", "/etc/motd").Stdout == "unsigned\n" })
	f.await("web1 refuses it", func() bool {
		return strings.Contains(h.Exec("fettle", "target", "show", "web1").Stdout,
			"is not signed, and this target accepts only signed commits")
	})
	if out := a.Run(f.t, "cat", "/etc/motd"); strings.TrimSpace(out) != "four" {
		f.t.Errorf("web1 has %q", out)
	}
	sign := func() {
		h.Run(f.t, "git", "-C", "/srv/site", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "gpg.format=ssh", "-c",
			"user.signingkey=/root/signer.pub", "commit", "-qS", "--allow-empty", "-m", "I have read it")
	}
	sign()
	name := ""
	f.await("web1 names the file that binds the commit to the fleet", func() bool {
		name = regexp.MustCompile(`fleet-sha256-[0-9a-f]{64}`).FindString(h.Exec("fettle", "target", "show", "web1",
			"--json").Stdout)
		return name != ""
	})
	h.Run(f.t, "touch", "/srv/site/"+name)
	h.Run(f.t, "git", "-C", "/srv/site", "add", name)
	sign()
	f.motd("unsigned")
	f.ready()
	a.Run(f.t, "rm", "/etc/fettle/allowed_signers")
	a.Run(f.t, "systemctl", "restart", "fettle-agent")
	f.commit("four")
	f.await("web1 accepts nothing without the file that was there", func() bool {
		return strings.Contains(h.Exec("fettle", "target", "show", "web1").Stdout, "allowed_signers is missing")
	})
	if out := a.Run(f.t, "cat", "/etc/motd"); strings.TrimSpace(out) != "unsigned" {
		f.t.Errorf("web1 has %q", out)
	}
	a.Run(f.t, "rm", "/var/lib/fettle/agent/signatures-required")
	a.Run(f.t, "systemctl", "restart", "fettle-agent")
	f.motd("four")
}

// fleetToken: a token that is spent, expired, of another fleet or none lets nobody in,
// and is not shown; the one who is in stays.
func fleetToken(f *fleetOf) {
	spent, short := f.token("role=web", "1"), f.token("role=web", "1", "--expires", "1s")
	f.enrol(f.hub, spent, 0, "--name", "hub")
	other := &fleetOf{t: f.t, hub: f.agents[4]}
	other.begin()
	f.await("it has expired", func() bool {
		return strings.Contains(f.hub.Exec("fettle", "token", "list").Stdout,
			" expired ")
	})
	for _, c := range []struct{ token, says string }{
		{spent, "spent"},
		{mistyped(spent), "incomplete or mistyped"},
		{short, "expired"},
		{other.token("role=web", "1"), "does not belong to the fleet"},
	} {
		r := f.enrol(f.agents[0], c.token, 1, "--again")
		if out := r.Stdout + r.Stderr; strings.Contains(out, c.token[16:30]) || !strings.Contains(out, c.says) {
			f.t.Errorf("it does not say %q, or a part of the token: %s", c.says, out)
		}
	}
	other.hub.Run(f.t, "systemctl", "disable", "--now", "fettle-hub")
	f.await("all agents are ready", func() bool {
		return strings.Contains(f.hub.Exec("fettle", "status",
			"--fleet").Stdout, "5 ready")
	})
}

// mistyped is the token with another last character.
func mistyped(token string) string {
	all, other := token[:len(token)-1], "x"
	if strings.HasSuffix(token, other) {
		other = "y"
	}
	return all + other
}

// fleetRevoked: who is revoked gets nothing any more, and keeps what it has.
func fleetRevoked(f *fleetOf) {
	f.hub.Run(f.t, "fettle", "target", "revoke", "web2", "--yes", "--reason", "stolen")
	f.await("it is out", func() bool { return !strings.Contains(f.hub.Exec("fettle", "target", "list").Stdout, "web2") })
	f.commit("five")
	only := &fleetOf{t: f.t, hub: f.hub, agents: append(f.agents[:1:1], f.agents[2:]...)}
	only.motd("five")
	if out := f.agents[1].Run(f.t, "cat", "/etc/motd"); strings.TrimSpace(out) != "four" {
		f.t.Errorf("a target that is revoked has %q", out)
	}
}
