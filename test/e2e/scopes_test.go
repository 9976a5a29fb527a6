package e2e

import (
	"strings"
	"testing"

	"fettle.dev/fettle/test/sample"
)

// ofWeb is a cluster of all hosts with two checks, and the strategy at-once.
const ofWeb = atOnce + `cluster "web" {
  labels = { role = "web" }
  check "file" {
    file     = "/run/formed"
    contains = "formed"
    every    = "5s"
  }
  check "command" {
    exec  = "systemctl is-active fettle-agent"
    every = "5s"
  }
}
`

// TestScopeChecks: agents on booted hosts test the checks of their cluster. The hub has their results, also after a
// restart of an agent and after a reboot.
func TestScopeChecks(t *testing.T) {
	sample.Group(t, 9)
	t.Parallel()
	f := newFleetOfHubs(t, 1, 2)
	f.policy = ofWeb
	f.begin()
	hub, a := f.hubs[0], f.agents[0]
	shows := func(check, result string) {
		t.Helper()
		f.await(a.Name+" has the result "+result+" of "+check, func() bool {
			for line := range strings.Lines(hub.Exec("fettle", "target", "show", a.Name).Stdout) {
				if words := strings.Fields(line); len(words) > 2 && words[0] == "cluster/web" && words[1] == check {
					return words[2] == result
				}
			}
			return false
		})
	}
	shows("file", "failed")
	shows("command", "ok")
	a.Run(t, "sh", "-c", "echo formed >/run/formed")
	shows("file", "ok")
	told := func(text string) int { return strings.Count(hub.Exec("fettle", "events").Stdout, text) }
	checked, started := told("cluster/web"), told("started")
	a.Run(t, "systemctl", "restart", "fettle-agent")
	f.await("the agent started", func() bool { return told("started") > started })
	if n := told("cluster/web"); n != checked {
		t.Errorf("a restart caused %d events about checks", n-checked)
	}
	if out := a.Run(t, "fettle", "agent", "status"); !strings.Contains(out, "cluster/web") {
		t.Errorf("%s", out)
	}
	a.Reboot(t)
	shows("file", "failed") // the file was in memory
	if out := a.Run(t, "fettle", "agent", "status"); !strings.Contains(out, "/run/formed") {
		t.Errorf("%s", out)
	}
}
