package outside

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fettle.dev/fettle/test/campaign"
	"fettle.dev/fettle/test/gobuild"
	"fettle.dev/fettle/test/hosts"
)

func TestMain(m *testing.M) { os.Exit(hosts.Main(m)) }

// service is a daemon that tells which configuration it has read.
const service = `[Unit]
Description=a daemon that reads its configuration
[Service]
ExecStartPre=/bin/cp /etc/daemon/conf /run/%n.loaded
ExecStart=/bin/sleep infinity
ExecReload=/bin/cp /etc/daemon/conf /run/%n.loaded
[Install]
WantedBy=multi-user.target
`

// list is one of two states of the host: the files, the account, the region, the
// unit and the packages of each differ.
func list(version int) string {
	var b strings.Builder
	add := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	add("GROUP story gid=1600")
	add("USER story uid=1600 group=story home=/srv/story shell=%s create_home=true",
		[]string{"", "/bin/sh", "/bin/bash"}[version])
	add("MKDIR /etc/daemon owner=story mode=075%d", version)
	for i := range 12 {
		add("COPY v%d /etc/daemon/part%02d mode=064%d", version, i, version)
	}
	if version == 1 {
		add("LINK part01 /etc/daemon/one")
		add("COPY v1 /etc/daemon/gone")
	}
	add("COPY v%d /etc/daemon/conf", version)
	add("COPY unit /etc/systemd/system/first.service")
	add("COPY unit /etc/systemd/system/second.service")
	add("UNIT first.service enabled=%v active=true", version == 1)
	add("UNIT second.service enabled=%v active=true", version == 2)
	add("ACT reload first.service on=file:/etc/daemon/conf")
	add("ACT restart second.service on=file:/etc/daemon/conf")
	add("EDIT /etc/hosts block=story content=\"10.0.0.%d story\\n\"", version)
	if version == 2 {
		add("EXEC makedb touch /srv/db creates=/srv/db undo=\"rm /srv/db\"")
		add("MEMBER story adm")
	}
	return b.String()
}

// look prints everything that the lists are about.
const look = `cd /etc/daemon; stat -c '%n %a %U %G' . *; sha256sum part* conf gone 2>/dev/null; readlink one; ls -A /etc/daemon /srv | grep -c fettle
getent passwd story; id story; grep -c story /etc/hosts; grep '10.0.0' /etc/hosts; ls -d /srv/db 2>&1
for u in first second; do systemctl is-active $u; systemctl is-enabled $u; cat /run/$u.service.loaded; done; cat conf`

// program builds the program as it is shipped.
func program(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "fettle")
	if err := gobuild.Program(bin, gobuild.Fettle); err != nil {
		t.Fatal(err)
	}
	return bin
}

// victim is a host with both lists, and how it looks in each state.
type victim struct {
	*hosts.Host
	t     *testing.T
	looks [3]string // by version
	takes time.Duration
}

func newVictim(t *testing.T, h *hosts.Host, bin string) *victim {
	t.Helper()
	v := &victim{Host: h, t: t}
	h.Copy(t, bin, "/usr/local/bin/fettle")
	h.Run(t, "mkdir", "-p", "/root/lists")
	h.WriteFile(t, "/root/lists/unit", service, 0o644)
	for version := 1; version <= 2; version++ {
		h.WriteFile(t, fmt.Sprintf("/root/lists/v%d", version), fmt.Sprintf("version %d\n", version), 0o644)
		h.WriteFile(t, fmt.Sprintf("/root/lists/%d.steps", version), list(version), 0o644)
	}
	for _, version := range []int{1, 2, 1} {
		start := time.Now()
		h.Run(t, "fettle", "steps", "apply", "--yes", "--confirm-within", "0s", fmt.Sprintf("/root/lists/%d.steps", version))
		v.takes = time.Since(start)
		v.looks[version] = v.look()
	}
	if v.looks[1] == v.looks[2] || v.looks[1] == "" {
		t.Fatalf("the two states look the same:\n%s", v.looks[1])
	}
	return v
}

func (v *victim) look() string { return v.Exec("sh", "-c", look).Stdout }

// tally is what was tried on all hosts.
type tally struct {
	mu                         sync.Mutex
	kills, late, old, new, bad int
}

// TestKilledFromOutside kills at random moments.
func TestKilledFromOutside(t *testing.T) {
	kills, names := 30, []string{"v1", "v2"}
	if os.Getenv("FETTLE_LONG") != "" {
		kills, names = 1000, []string{"v1", "v2", "v3", "v4"}
	}
	w := hosts.NewWorld(t)
	bin := program(t)
	var n tally
	var wg sync.WaitGroup
	for i, h := range w.BootAll(t, hosts.Options{}, names...) {
		v := newVictim(t, h, bin)
		dice := rand.New(rand.NewPCG(uint64(i), 20261121))
		wg.Go(func() { v.attack(dice, kills/len(names), &n) })
	}
	wg.Wait()
	campaign.Record(t, campaign.Campaign{Name: "Kill", Variant: "from outside, on booted hosts",
		Points: n.kills + n.late, Hit: n.kills, Lost: n.bad,
		Detail: fmt.Sprintf("SIGKILL at random moments of runs with accounts, units, actions, a command and files; both policies; compared with the loaded configuration of the services (%d too late, %d old, %d new)", n.late, n.old, n.new)})
	if n.late == 0 || n.kills < kills/4 {
		t.Errorf("%d kills came in the run and %d too late: both are wanted", n.kills, n.late)
	}
}

// attack kills one run after the other, from one state to the other.
func (v *victim) attack(dice *rand.Rand, times int, n *tally) {
	is := 1
	for k := range times {
		to := 3 - is
		p, err := v.Command(context.Background(), "fettle", "steps", "apply", "--yes", "--confirm-within", "0s",
			fmt.Sprintf("/root/lists/%d.steps", to))
		if err != nil {
			v.t.Errorf("%s: %v", v.Name, err)
			return
		}
		var said strings.Builder
		p.Stdout, p.Stderr = &said, &said
		start := time.Now()
		if err := p.Start(); err != nil {
			v.t.Errorf("%s: %v", v.Name, err)
			return
		}
		over := make(chan error, 1)
		go func() { over <- p.Wait() }()
		at := time.Duration(dice.Int64N(int64(v.takes) * 13 / 10))
		var ended error
		select {
		case ended = <-over:
			time.Sleep(max(0, at-time.Since(start)))
			v.takes = (3*v.takes + time.Since(start)) / 4
			v.settle(n, is, to, k, true, ended, said.String(), &is)
			continue
		case <-time.After(at):
		}
		v.Exec("pkill", "-KILL", "-x", "fettle")
		ended = <-over
		late := ended == nil
		if late {
			v.takes = (3*v.takes + time.Since(start)) / 4
		}
		v.settle(n, is, to, k, late, ended, said.String(), &is)
	}
}

// settle recovers and looks. now is which state the host is in then.
func (v *victim) settle(n *tally, from, to, k int, late bool, ended error, said string, now *int) {
	policy := []string{"undo", "finish"}[k%2]
	r := v.Exec("fettle", "recover", "--on-crash", policy)
	is := v.look()
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case late && ended != nil:
		n.bad++
		v.t.Errorf("%s, run %d failed by itself: %v\n%s", v.Name, k, ended, said)
	case late:
		n.late++
	default:
		n.kills++
	}
	switch {
	case r.ExitCode != 0:
		n.bad++
		v.t.Errorf("%s, kill %d, %s: recovery ended with %d\n%s%s", v.Name, k, policy, r.ExitCode, r.Stdout, r.Stderr)
	case is == v.looks[to]:
		n.new++
		*now = to
	case is == v.looks[from] && !late:
		n.old++
		*now = from
	default:
		n.bad++
		if n.bad <= 5 {
			v.t.Errorf("%s, kill %d, %s, late %v: neither\n%s\nnor\n%s\nbut\n%s\nrun:\n%s\nrecovery:\n%s", v.Name, k, policy,
				late, v.looks[from], v.looks[to], is, said, r.Stdout+r.Stderr)
		}
		v.Exec("fettle", "steps", "apply", "--yes", "--confirm-within", "0s", fmt.Sprintf("/root/lists/%d.steps", to))
		*now = to
	}
}
