package e2e

import (
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/test/hosts"
	"fettle.dev/fettle/test/sample"
)

// TestUpgrade exchanges the program of agents: a good one stays, on some first and then on
// all, and over a reboot; of one that exits, hangs, is killed or is no program the old one
// comes back, tells of it, and does not try it again.
func TestUpgrade(t *testing.T) {
	sample.Half(t)
	t.Parallel()
	repo := hosts.NewRepo(t)
	repo.AddDebian(t)
	repo.Publish(t)
	w := hosts.NewWorld(t)
	f := &fleetOf{t: t, hub: newMachine(t, w, "hub", repo),
		agents: []*machine{newMachine(t, w, "web1", repo), newMachine(t, w, "web2", repo)}}
	f.begin()
	h, web1, web2 := f.hub, f.agents[0], f.agents[1]
	h.Copy(t, buildProgram(t, "fettle.dev/fettle/cmd/fettle", "9.0"), "/root/good")
	for _, how := range []string{"9.1-exits", "9.2-hangs", "9.3-hangs"} {
		h.Copy(t, buildProgram(t, "./testdata/broken", how), "/root/"+how)
	}

	f.upgrade("good", "web1", "5m")
	f.told("web1  upgraded: to 9.0")
	f.runs(web1, "9.0")
	f.runs(web2, "devel")
	if n := web1.Run(t, "systemctl", "show", "-P", "NRestarts", "fettle-agent"); strings.TrimSpace(n) != "0" {
		t.Errorf("systemd has restarted the agent %s times", n)
	}
	f.upgrade("good", "label:role=web", "5m")
	f.told("web2  upgraded: to 9.0")
	web1.Reboot(t)
	f.runs(web1, "9.0")
	f.ready()

	f.upgrade("9.1-exits", "web1", "5m")
	f.told("it ended before it reached a hub: exit status 1")
	f.upgrade("9.2-hangs", "web2", "6s")
	f.told("it reached no hub within 6s")
	f.upgrade("9.3-hangs", "web1", "20s")
	f.await("it is tried", func() bool { return f.tries(web1, "9.3-hangs") == 1 })
	web1.Run(t, "systemctl", "kill", "-s", "KILL", "fettle-agent")
	f.await("the old one is back", func() bool { return strings.Count(f.events(), "upgraded: not to 9.3-hangs") == 1 })
	f.motd("one")
	web1.byHand("/etc/motd", "by hand\n")
	f.motd("one")
	f.runs(web1, "9.0")
	web1.Run(t, "systemctl", "restart", "fettle-agent")
	f.runs(web1, "9.0")
	for m, program := range map[*machine]string{web1: "9.1-exits", web2: "9.2-hangs"} {
		if n := f.tries(m, program); n != 1 {
			t.Errorf("%s was tried %d times", program, n)
		}
	}
	if n := f.tries(web1, "9.3-hangs"); n != 2 { // it was killed the first time
		t.Errorf("9.3 was tried %d times", n)
	}
	f.ready()
}

// upgrade has agents be a program of the hub's host.
func (f *fleetOf) upgrade(file, who, within string) {
	f.t.Helper()
	f.t.Log(f.hub.Run(f.t, "fettle", "agent", "upgrade", "--binary", "/root/"+file, "--timeout", within, "-t", who))
}

// tries is how often a program was tried.
func (f *fleetOf) tries(m *machine, version string) int {
	return strings.Count(m.Exec("journalctl", "-u", "fettle-agent", "-o", "cat").Stdout,
		"the binary "+version+" is on trial")
}

// runs waits until the hub hears a version from an agent that is what systemd looks after.
func (f *fleetOf) runs(m *machine, version string) {
	f.t.Helper()
	f.await(m.Name+" runs "+version, func() bool {
		return strings.Contains(f.hub.Exec("fettle", "target", "show", m.Name, "--json").Stdout, `"version": "`+version+`"`)
	})
	end := time.Now().Add(time.Minute)
	for {
		pid := strings.TrimSpace(m.Run(f.t, "systemctl", "show", "-P", "MainPID", "fettle-agent"))
		exe := m.Exec("readlink", "/proc/"+pid+"/exe").Stdout
		if (version != "devel") == strings.Contains(exe, "/var/lib/fettle/program/") {
			return
		}
		if time.Now().After(end) {
			f.t.Fatalf("%s runs %s", m.Name, exe)
		}
		time.Sleep(100 * time.Millisecond)
	}
}
