package e2e

import (
	"strings"
	"time"
)

// hubsUpgraded: each hub in turn gets another program while agents apply, as the documents
// say: the one that leads last, and the next when everything is on all of them.
func hubsUpgraded(f *hubsOf) {
	leads := f.leader(nil)
	turn := []*machine{}
	for _, h := range f.hubs {
		if h != leads {
			turn = append(turn, h)
		}
	}
	for _, h := range append(turn, leads) {
		began := time.Now()
		f.commit("while-" + h.Name + "-is-upgraded")
		f.await("web1 applies", func() bool { return len(lines(f.agents[0], "/var/log/begun")) == len(f.given) })
		h.Run(f.t, "install", "/root/newer", "/usr/bin/fettle")
		h.Run(f.t, "systemctl", "restart", "fettle-hub")
		f.arrived()
		f.kept(3)
		f.t.Logf("%s is another program, and all goes on, after %s", h.Name, time.Since(began).Round(time.Millisecond))
	}
	for _, h := range f.hubs {
		pid := strings.TrimSpace(h.Run(f.t, "systemctl", "show", "-P", "MainPID", "fettle-hub"))
		if out := h.Run(f.t, "/proc/"+pid+"/exe", "version"); !strings.Contains(out, "9.0") {
			f.t.Errorf("%s runs %s", h.Name, out)
		}
	}
	f.commit("upgraded")
	f.arrived()
}

// oneOfTwo: of two hubs one is lost with its disk. Then nothing can be changed, which hubs
// say, and agents keep what they have; the one that is left begins alone as the documents
// say, and takes in another one.
func oneOfTwo(f *hubsOf) {
	left, lost := f.hubs[0], f.hubs[2]
	lost.Run(f.t, "systemctl", "kill", "-s", "KILL", "fettle-hub")
	lost.Run(f.t, "systemctl", "disable", "--now", "fettle-hub")
	f.await("the one that is left says so", func() bool {
		r := left.Exec("fettle", "hub", "check")
		return r.ExitCode == 3 && strings.Contains(r.Stdout, "start the missing hubs")
	})
	retired := make(chan int, 1)
	go func() { retired <- left.Exec("fettle", "hub", "retire", "hub3", "--lost", "--yes").ExitCode }()
	f.commit("alone")
	for _, a := range f.agents {
		a.byHand("/etc/issue.web", "by hand\n")
		f.await(a.Name+" keeps what it has", func() bool { return a.Exec("cat", "/etc/issue.web").Stdout == "kept\n" })
	}

	began := time.Now()
	left.Run(f.t, "systemctl", "stop", "fettle-hub")
	if <-retired == 0 {
		f.t.Error("a hub is retired by one of two")
	}
	left.Run(f.t, "mv", "/var/lib/fettle-hub/bus", "/var/lib/fettle-hub/hubs.json", "/root/")
	left.Run(f.t, "systemctl", "start", "fettle-hub")
	f.arrived()
	f.kept(1)
	f.t.Logf("alone, and agents have what was given, after %s", time.Since(began).Round(time.Millisecond))

	lost.Run(f.t, "rm", "-rf", "/var/lib/fettle-hub")
	token := f.output(left, "fettle", "hub", "token")
	r := lost.ExecInput(strings.NewReader(token), "fettle", "hub", "join", "https://"+left.Addr+":7440", "--token-file",
		"-", "--address", lost.Addr, "--name", "hub4")
	if r.ExitCode != 0 {
		f.t.Fatalf("hub4 does not join: %s%s%s", r.Stdout, r.Stderr, f.situation())
	}
	lost.Run(f.t, "systemctl", "enable", "--now", "fettle-hub")
	f.kept(2)
}
