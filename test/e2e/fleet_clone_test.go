package e2e

import (
	"strings"
	"testing"

	"fettle.dev/fettle/test/hosts"
	"fettle.dev/fettle/test/sample"
)

// TestFleetClone: the state directory of an agent is copied to a second host while the agent runs. The
// hub trusts neither host until an operator follows the documented procedure. Then the first host
// is the target again, and the second host is a target of its own.
func TestFleetClone(t *testing.T) {
	sample.Group(t, 1)
	t.Parallel()
	repo := hosts.NewRepo(t)
	repo.AddDebian(t)
	repo.Publish(t)
	w := hosts.NewWorld(t)
	f := &fleetOf{t: t, hub: newMachine(t, w, "hub", repo), agents: []*machine{newMachine(t, w, "web1", repo)}}
	web1, web2 := f.agents[0], newMachine(t, w, "web2", repo)
	f.begin()
	f.ready()
	web2.units()
	if r := web2.ExecInput(strings.NewReader(web1.Run(t, "tar", "-C", "/var/lib", "-c", "fettle")), "tar", "-C",
		"/var/lib", "-x"); r.ExitCode != 0 {
		t.Fatal(r.Stderr)
	}
	web2.Run(t, "systemctl", "enable", "--now", "fettle-agent")
	shows := func(text string) func() bool {
		return func() bool { return strings.Contains(f.hub.Exec("fettle", "target", "show", "web1").Stdout, text) }
	}
	f.await("the hub detects the clone", shows("cloned"))
	out := f.hub.Run(t, "fettle", "target", "show", "web1")
	for _, m := range []*machine{web1, web2} {
		boot := strings.TrimSpace(m.Run(t, "cat", "/proc/sys/kernel/random/boot_id"))
		if !strings.Contains(out, m.Name+", boot "+boot+", machine_id ") {
			t.Errorf("%s with the boot %s is not shown:\n%s", m.Name, boot, out)
		}
	}
	t.Logf("\n%s\n%s", out, f.hub.Run(t, "fettle", "target", "list"))
	f.await("the alarm", func() bool { return strings.Contains(f.hub.Exec("fettle", "alarm", "list").Stdout, "cloned") })
	f.told("several hosts have its identity")
	f.commit("two")
	f.await("the hub follows", func() bool { return strings.Contains(f.events(), "two") })

	web2.Run(t, "systemctl", "stop", "fettle-agent")
	if out := web1.Run(t, "cat", "/etc/motd"); strings.TrimSpace(out) != "one" {
		t.Errorf("a host that is not trusted got %q", out)
	}
	f.hub.Run(t, "fettle", "target", "trust", "web1", "--reason", "web2 was a copy")
	f.motd("two")
	f.enrol(web2, f.token("role=web", "1"), 0, "--again", "--replace-applied-state")
	web2.Run(t, "systemctl", "start", "fettle-agent")
	f.agents = append(f.agents, web2)
	f.motd("two")
	f.ready()
}
