package e2e

import (
	"os"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/test/sample"
)

// TestRolloutOrders makes a fleet with the default strategy, of one hub and three targets, and in the long tests of
// three hubs and twelve. A commit that locks users out stops at the first targets, which return alone. Others wait for
// an approval, or for a window. At the end, an operator rolls back the fleet.
func TestRolloutOrders(t *testing.T) {
	sample.Group(t, 11)
	t.Parallel()
	hubs, targets := 1, 3
	if os.Getenv("FETTLE_LONG") != "" {
		hubs, targets = 3, 12
	}
	f := newFleetOfHubs(t, hubs, targets)
	f.module = strings.ReplaceAll(serves, "UNIT", runs)
	f.begin()
	f.policy = carefully
	f.story(t, []chapter{{"LockedOut", lockedOut}, {"Approval", waitsForApproval}, {"Window", waitsForWindow},
		{"FleetRollback", fleetRolledBack}})
}

// refuses makes sshd refuse all users. A check logs in as users do, and it alone notices this.
const refuses = `sshd_config "10-lock" { settings = { AllowUsers = "nobody" } }
check "login" {
  exec   = "ssh -o BatchMode=yes -o StrictHostKeyChecking=no -i /root/.ssh/check root@127.0.0.1 true"
  within = "5s"
}
`

// lockedOut: a commit makes sshd refuse all users. At most two targets get it, and users can log in there again
// without an operator.
func lockedOut(f *hubsOf) {
	before, policy := f.given[len(f.given)-1], f.policy
	for _, a := range f.agents {
		a.Run(f.t, "sh", "-ec", "ssh-keygen -q -t ed25519 -N '' -f /root/.ssh/check; "+
			"cat /root/.ssh/check.pub >>/root/.ssh/authorized_keys")
		f.await("root of "+a.Name+" can log in", func() bool { return logsIn(a) })
	}
	f.module = strings.ReplaceAll(serves, "UNIT", runs) + refuses
	f.policy = "policy {\n  rollout = \"careful\"\n  lockout = \"checks\"\n}\n"
	f.commit("locked")
	f.ends(f.hubs[0], "rolled-back")
	if n := len(f.having("locked")); n < 1 || n > 2 {
		f.t.Errorf("%d targets had the commit%s", n, f.situation())
	}
	for _, a := range f.agents {
		f.await("root of "+a.Name+" can log in again", func() bool { return logsIn(a) })
	}
	f.policy, f.given[len(f.given)-1] = policy, before
	f.arrived()
}

// logsIn tells whether a user can log in to a host.
func logsIn(m *machine) bool {
	return m.Exec("ssh", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no", "-o", "ConnectTimeout=2", "-i",
		"/root/.ssh/check", "root@127.0.0.1", "true").ExitCode == 0
}

// approved is a strategy that waits for an approval after its first target.
const approved = `rollout "asked" {
  wave "first" {
    size = 1
    approval "board" { groups = ["dba"] }
  }
  wave "rest" {}
}
policy { rollout = "asked" }
`

// waitsForApproval: a commit waits at its first target until a member of a group approves it. So does the commit that
// selects another strategy; the commit that selected this one did not.
func waitsForApproval(f *hubsOf) {
	by := f.hubs[0]
	f.module = strings.ReplaceAll(serves, "UNIT", runs)
	f.policy = approved
	f.commit("selects")
	f.arrived()
	f.ends(by, "completed")
	by.Run(f.t, "fettle", "user", "set", "carol", "--role", "approve", "--groups", "dba")
	carol, _, _ := logIn(f.t, by, "carol")
	for _, text := range []string{"asked", "deselects"} {
		f.commit(text)
		f.await("the rollout waits for an approval", func() bool {
			return strings.Contains(by.Exec("fettle", "alarm", "list").Stdout, "rollout_waits")
		})
		if n := len(f.having(text)); n != 1 {
			f.t.Errorf("%d targets have the commit without an approval", n)
		}
		r := by.Exec("fettle", "rollout", "approve", f.newest(by).ID)
		if r.ExitCode == 0 || !strings.Contains(r.Stderr, "accepts only members of dba") {
			f.t.Errorf("root approves: %s%s", r.Stdout, r.Stderr)
		}
		by.Run(f.t, "env", "HOME="+carol, "fettle", "rollout", "approve", f.newest(by).ID)
		f.arrived()
		f.ends(by, "completed")
		f.policy = carefully
	}
}

// waitsForWindow: outside of the window no target gets a commit, and it reaches all targets when a commit opens the
// window.
func waitsForWindow(f *hubsOf) {
	hour := time.Now().UTC().Add(12 * time.Hour).Format("15")
	window := "window \"far\" {\n  schedule = \"0 " + hour + " * * *\"\n  duration = \"1h\"\n}\n"
	f.policy = window + "policy {\n  rollout = \"careful\"\n  windows = [\"far\"]\n}\n"
	f.commit("windowed")
	web := f.agents[0].Name
	f.await("the hub explains the window", func() bool {
		return strings.Contains(f.hubs[0].Exec("fettle", "explain", web, "web").Stdout, "window")
	})
	if n := len(f.having("windowed")); n != 0 {
		f.t.Errorf("%d targets have the commit outside of the window", n)
	}
	f.policy = carefully
	f.commit("opened")
	f.arrived()
	f.ends(f.hubs[0], "completed")
}

// fleetRolledBack: an operator returns the fleet to an older commit. A release delivers the newest commit again.
func fleetRolledBack(f *hubsOf) {
	by, newest := f.hubs[0], f.given[len(f.given)-1]
	f.commit("regretted")
	f.arrived()
	f.ends(by, "completed")
	older := strings.TrimSpace(by.Run(f.t, "git", "-C", "/srv/site", "rev-parse", "HEAD~1"))
	by.Run(f.t, "fettle", "fleet", "rollback", "web", "--to", older, "--reason", "regretted", "--yes")
	f.given[len(f.given)-1] = newest
	f.arrived()
	if out := by.Run(f.t, "fettle", "fleet", "rollbacks"); !strings.Contains(out, "web") {
		f.t.Errorf("the rollback is not in the list:\n%s", out)
	}
	by.Run(f.t, "fettle", "fleet", "release", "web")
	f.given = append(f.given, "regretted")
	f.arrived()
}
