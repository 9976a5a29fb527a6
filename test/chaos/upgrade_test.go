package chaos

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// envOld is the commit of the older version.
const envOld = "FETTLE_CHAOS_OLD"

// TestUpgrade: a fleet of an older version is upgraded host by host, in a random order. In between, hubs and agents of
// both versions work together: commits and jobs arrive at each agent, and no report is lost.
//
//	FETTLE_CHAOS=1m go test -v -run TestUpgrade ./test/chaos                            # from HEAD~100
//	FETTLE_CHAOS=1m FETTLE_CHAOS_OLD=v1.2.0 go test -v -run TestUpgrade ./test/chaos
func TestUpgrade(t *testing.T) {
	requireLong(t)
	_, seed, _ := options(t)
	w := newWorld(t, &world{hosts: agentCount, build: buildOld,
		settings: "policy {\n  rollout = \"at-once\"\n}\n"})
	program := filepath.Join(w.dir, "new")
	buildShifted(t, program, false)
	c := &run{world: w, fault: "before the upgrade", over: map[string]bool{}, frozen: map[string]bool{}}
	ctx, stop := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	watching.Go(func() { w.watchNumbers(ctx) })
	defer func() { stop(); watching.Wait() }()
	c.converge()
	r := rand.New(rand.NewPCG(seed, 4))
	nodes := w.nodes()
	for _, i := range r.Perm(len(nodes)) {
		c.fault = "upgrade of " + nodes[i].name
		began := time.Now()
		c.upgrade(nodes[i], program, r.IntN(2) == 0)
		c.work(r, time.Duration(r.IntN(3000))*time.Millisecond)
		c.createJob(c.anyHub())
		c.converge()
		c.await("all hubs have all reports", c.allReports)
		c.judgeJobs()
		c.judgePanics()
		t.Logf("seed %d: %s: %s", seed, c.fault, time.Since(began).Round(100*time.Millisecond))
	}
	c.judge()
}

// upgrade replaces the program of a node, and starts it again.
func (c *run) upgrade(n *node, program string, killed bool) {
	if killed {
		n.kill()
	} else {
		n.stop()
	}
	for _, a := range c.agents {
		if a.node == n {
			c.run("cp "+program+" "+a.file("opt/chaos/new"), "mv "+a.file("opt/chaos/new")+" "+a.file("opt/chaos/fettle"))
			n.start()
			return
		}
	}
	n.argv[0] = program
	n.start()
}

// buildOld builds the program of an older commit.
func buildOld(t *testing.T, file string) {
	t.Helper()
	commit := os.Getenv(envOld)
	if commit == "" {
		commit = "HEAD~100"
	}
	dir := t.TempDir()
	build := exec.Command("sh", "-ec", `git archive "$1" | tar -x -C "$2"
		cd "$2"
		CGO_ENABLED=0 go build -trimpath -buildvcs=false -o "$3" ./cmd/fettle`, "sh", commit, dir, file)
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("cannot build the program of the commit %s: %v\n%s", commit, err, out)
	}
}
