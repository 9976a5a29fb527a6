package agent_test

import (
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent"
	"fettle.dev/fettle/internal/fleet/agent/signed"
	"fettle.dev/fettle/internal/fleet/agent/signed/signedtest"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/host"
)

const fleetFile = "fleet-sha256-aa"

// strictNode returns a host that accepts only signed commands, and a user with a trusted key.
func strictNode(t *testing.T) (*node, signedtest.User) {
	t.Helper()
	u, err := signedtest.NewUser()
	if err != nil {
		t.Fatal(err)
	}
	n := newNode(t)
	n.admit = func(d fleet.Job) (agent.Admission, error) {
		m := &signed.Memory{Files: n.disk, Dir: "/agent/commands", Trust: func() (content.CommandTrust, error) {
			return content.CommandTrust{Signers: u.Signers, Fleets: []string{fleetFile}, Target: "web1",
				Now: time.Now().Unix()}, nil
		}}
		return agent.AdmitJob(agent.SignedCommands, nil, m, d)
	}
	n.hub.assign(1, top, n.hub.part("modules/base", drain), n.hub.part("modules/web", issue("web\n")))
	n.start()
	n.hub.connect(true)
	n.hub.heard(t, "ready", isReady)
	return n, u
}

func signJob(t *testing.T, u signedtest.User, c fleet.Command, change func(*content.Command)) string {
	t.Helper()
	params, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().Unix()
	s := content.Command{Fleet: fleetFile, Targets: []string{"web1"}, Call: content.JobCall, Params: params,
		From: now - 60, Until: now + 3600}
	change(&s)
	text, err := s.Sign(u.Key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func asIs(*content.Command) {}

// restart restarts the agent, and waits until it accepts jobs.
func (n *node) restart() {
	n.t.Helper()
	n.stop()
	n.hub.mu.Lock()
	delete(n.hub.handlers, fleet.MessageJob)
	n.hub.mu.Unlock()
	n.start()
	for n.hub.handler(fleet.MessageJob) == nil {
		runtime.Gosched()
	}
	n.hub.connect(true)
}

// A signed job runs once. If a hub sends it with a different number, or again after a restart of
// the agent, it is refused.
func TestASignedJobRunsOnce(t *testing.T) {
	n, u := strictNode(t)
	run := &fleet.Command{Argv: []string{"uptime"}, User: "www", Timeout: int64(time.Minute)}
	text := signJob(t, u, *run, asIs)
	n.deliver(fleet.Job{ID: "1", What: fleet.JobRun, Run: run, Signed: text, By: "ada"})
	if line := n.began(); line != "uptime" {
		t.Error(line)
	}
	n.says <- host.CommandResult{}
	if d := n.end("1"); d.Error != "" || d.Result == nil {
		t.Errorf("%+v", d)
	}
	if all := n.history(); len(all) != 1 || all[0].From != "fleet, signed by ann" || all[0].User != "ada" {
		t.Errorf("%+v", all)
	}
	for _, id := range []string{"2", "3"} {
		n.deliver(fleet.Job{ID: id, What: fleet.JobRun, Run: run, Signed: text, By: "ada"})
		if d := n.end(id); !strings.Contains(d.Error, "accepted it before") || d.Result != nil {
			t.Errorf("%s: %+v", id, d)
		}
		n.restart()
	}
	if len(n.history()) != 1 {
		t.Errorf("%+v", n.history())
	}
}

// A signed job that found the host locked is tried again, and then runs.
func TestASignedJobWaitsForALock(t *testing.T) {
	u, err := signedtest.NewUser()
	if err != nil {
		t.Fatal(err)
	}
	m := &signed.Memory{Files: newNode(t).disk, Dir: "/commands", Trust: func() (content.CommandTrust, error) {
		return content.CommandTrust{Signers: u.Signers, Fleets: []string{fleetFile}, Target: "web1",
			Now: time.Now().Unix()}, nil
	}}
	run := fleet.Command{Argv: []string{"uptime"}}
	job := fleet.Job{ID: "1", What: fleet.JobRun, Run: &run, Signed: signJob(t, u, run, asIs)}
	a, err := agent.AdmitJob(agent.SignedCommands, nil, m, job)
	if err != nil || a.Signer != "ann" {
		t.Fatalf("%+v, %v", a, err)
	}
	if _, err := agent.AdmitJob(agent.SignedCommands, nil, m, job); err == nil {
		t.Error("admitted twice")
	}
	if err := a.Release(); err != nil {
		t.Fatal(err)
	}
	if _, err := agent.AdmitJob(agent.SignedCommands, nil, m, job); err != nil {
		t.Error(err)
	}
}

// A hub can deliver a signed job only as it was signed, to the targets that were selected.
func TestAHostileHubAltersJobs(t *testing.T) {
	n, u := strictNode(t)
	other, err := signedtest.NewUser()
	if err != nil {
		t.Fatal(err)
	}
	run := fleet.Command{Argv: []string{"systemctl", "restart", "nginx"}, Dir: "/srv", User: "www",
		Timeout: int64(time.Minute)}
	good := signJob(t, u, run, asIs)
	altered := map[string]func(*fleet.Command){
		"word":    func(c *fleet.Command) { c.Argv = []string{"systemctl", "restart", "sshd"} },
		"program": func(c *fleet.Command) { c.Argv = []string{"reboot"} },
		"more":    func(c *fleet.Command) { c.Argv = []string{"systemctl", "restart", "nginx", "sshd"} },
		"dir":     func(c *fleet.Command) { c.Dir = "/" },
		"user":    func(c *fleet.Command) { c.User = "" },
		"timeout": func(c *fleet.Command) { c.Timeout++ },
		"looks":   func(c *fleet.Command) { c.ReadOnly = true },
		"frozen":  func(c *fleet.Command) { c.IgnoreFreeze = true },
		"an action": func(c *fleet.Command) {
			*c = fleet.Command{Action: "drain", Params: map[string]string{"seconds": "5"}}
		},
	}
	type attack struct {
		run    fleet.Command
		signed string
		want   string
	}
	attacks := map[string]attack{
		"unsigned":    {run, "", "this host accepts only signed commands"},
		"another key": {run, signJob(t, other, run, asIs), "not in allowed_signers"},
		"another target": {run, signJob(t, u, run, func(c *content.Command) { c.Targets = []string{"db1"} }),
			"this host enrolled as"},
		"another fleet": {run, signJob(t, u, run, func(c *content.Command) { c.Fleet = "fleet-sha256-bb" }),
			"another fleet"},
		"expired":    {run, signJob(t, u, run, func(c *content.Command) { c.Until = c.From + 1 }), "it was valid until"},
		"the future": {run, signJob(t, u, run, func(c *content.Command) { c.From += 1800 }), "it is valid from"},
		"a stream": {run, signJob(t, u, run, func(c *content.Command) { c.Call = "command" }),
			"its signature is for the call"},
		"cut off":      {run, good[:len(good)-40], "cannot accept"},
		"altered text": {run, strings.Replace(good, "nginx", "sshd", 1), "cannot accept"},
	}
	for name, change := range altered {
		c := run
		change(&c)
		attacks[name] = attack{c, good, "the delivered command differs from the signed command"}
	}
	for name, a := range attacks {
		n.deliver(fleet.Job{ID: name, What: fleet.JobRun, Run: &a.run, Signed: a.signed, By: "ada"})
		if d := n.end(name); !strings.Contains(d.Error, a.want) || d.Result != nil {
			t.Errorf("%s: %+v", name, d)
		}
	}
	if all := n.history(); len(all) > 0 || len(n.runs) > 0 {
		t.Errorf("executed %+v", all)
	}
	// None of this used up the signature.
	n.deliver(fleet.Job{ID: "good", What: fleet.JobRun, Run: &run, Signed: good, By: "ada"})
	n.began()
	n.says <- host.CommandResult{}
	if d := n.end("good"); d.Error != "" {
		t.Errorf("%+v", d)
	}
}

// Only the policy "signed" verifies signatures. An unreadable file refuses all jobs.
func TestAdmittedJobs(t *testing.T) {
	job := fleet.Job{What: fleet.JobRun, Run: &fleet.Command{Argv: []string{"id"}}, Signed: "anything"}
	if _, err := agent.AdmitJob(agent.AllCommands, nil, nil, job); err != nil {
		t.Error(err)
	}
	for _, p := range []agent.CommandPolicy{agent.NoCommands, agent.ReadCommands, ""} {
		if _, err := agent.AdmitJob(p, nil, nil, job); err == nil || errors.Is(err, wire.ErrUnsigned) {
			t.Errorf("%s: %v", p, err)
		}
	}
	unread := errors.New("cannot read it")
	if _, err := agent.AdmitJob(agent.NoCommands, unread, nil, job); !errors.Is(err, unread) {
		t.Error(err)
	}
}
