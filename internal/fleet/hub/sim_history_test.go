package hub

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/crypto/ssh"
	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/test/sample"
)

// operation is a random operation on a fleet: its kind, its object, and a number.
type operation struct {
	What   string
	N      int // of an agent or a hub
	Amount int
}

func (d operation) String() string { return fmt.Sprintf("%s(%d,%d)", d.What, d.N, d.Amount) }

// operations are the possible operations. Frequent ones are listed several times.
var operations = [...]string{
	"commit", "commit", "commit", "commit failing", "commit broken", "commit stranger", "commit unsigned",
	"commit shrinking",
	"fix", "pin", "unpin", "label", "enrol", "enrol", "revoke", "retire", "freeze", "thaw", "request",
	"hub", "hub", "hub crash", "hub crash", "lose", "backup", "restore", "depose", "store fails", "git away",
	"crash", "crash", "part", "heal", "full", "clock", "faults", "wait", "wait", "wait long", "order", "order",
	"commit part", "commit part", "commit part", "fleet rollback", "fleet rollback", "fleet rollback", "fleet rollback",
	"fleet rollback", "fleet release",
}

// simulated is a fleet with its random operations.
type simulated struct {
	*sim
	n     int // of the newest commit
	saved *shelf
	seen  map[string]int
	waves bool // changes are delivered in waves
	judge *rollbacks
}

// Random failures of hubs, agents, stores and networks break no guarantee, and after all failures
// have ended, every target has the configuration of the repository.
func TestSimulatedHistories(t *testing.T) {
	checks := simulatedHistories
	if os.Getenv("FETTLE_LONG") != "" {
		checks = "2000"
	}
	defer setDefault("rapid.checks", checks)()
	defer setDefault("rapid.seed", fmt.Sprint(sample.Seed()))()
	seen := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		list := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) operation {
			return operation{rapid.SampledFrom(operations[:]).Draw(rt, "what"), rapid.IntRange(0, 7).Draw(rt, "n"),
				rapid.IntRange(0, 99).Draw(rt, "amount")}
		}), 1, 40).Draw(rt, "history")
		waves, signed := rapid.Bool().Draw(rt, "in waves"), rapid.Bool().Draw(rt, "signed")
		var wrong []string
		var story string
		synctest.Test(t, func(t *testing.T) { wrong, story = happen(list, seen, waves, signed) })
		if len(wrong) > 0 {
			rt.Fatalf("%s\nthe history was %v\n%s", strings.Join(wrong, "\n"), list, story)
		}
	})
	t.Logf("%v", seen)
}

// setDefault sets a flag that has its default value. reset undoes this.
func setDefault(name, value string) (reset func()) {
	f := flag.Lookup(name)
	old := f.Value.String()
	if old == f.DefValue {
		_ = flag.Set(name, value)
	}
	return func() { _ = flag.Set(name, old) }
}

// happen plays a history, and returns the broken guarantees.
func happen(list []operation, seen map[string]int, waves, signed bool) (wrong []string, story string) {
	s, err := newSim(2)
	if err != nil {
		return []string{err.Error()}, ""
	}
	defer s.end()
	s.descent.Return = content.ReturnTime
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go s.followPresence(ctx)
	h := &simulated{sim: s, seen: seen, waves: waves, judge: newRollbacks()}
	s.judge, s.unsigned = h.judge, !signed
	for _, hub := range s.hubs {
		hub.start()
	}
	h.commit("main", s.site.believed, "")
	for i := range 3 {
		h.enrol(i)
	}
	for _, d := range list {
		h.note("%s", d)
		h.do(d)
		time.Sleep(time.Duration(1+d.Amount) * time.Second)
		synctest.Wait()
		if len(s.wrong) > 0 {
			return s.wrong, s.story()
		}
	}
	seen["content is held"] += s.judge.judged
	seen["returned to held content"] += s.judge.returned
	h.note("all is well again")
	h.converge()
	return s.wrong, s.story()
}

// commit puts a version on a branch; how describes its error.
func (h *simulated) commit(branch string, by ssh.Signer, how string) {
	h.n++
	parts := simple(fmt.Sprintf("%s %d", how, h.n))
	parts[""]["fettle.hcl"] += fmt.Sprintf("cluster \"web\" {\n  labels = { role = \"web\" }\n"+
		"  task \"load\" {\n    command  = [\"load\"]\n    triggers = { n = \"%d\" }\n  }\n}\n", h.n%4)
	switch how {
	case "broken":
		parts[""]["fettle.hcl"] += "target_group {"
	case "cannot":
		parts["modules/base"]["module.hcl"] = fmt.Sprintf("file \"/etc/base\" { content = \"%d\" }\n", h.n)
	case "shrinking":
		parts[""]["fettle.hcl"] = strings.ReplaceAll(parts[""]["fettle.hcl"], `role = "web"`, `role = "nobody"`)
	}
	if h.waves {
		parts[""]["fettle.hcl"] = h.delivered(parts[""]["fettle.hcl"])
	}
	h.committed(branch, h.site.commit(branch, by, parts))
}

// enrol adds an agent, if a hub is running.
func (h *simulated) enrol(n int) {
	if len(h.agents) >= 7 {
		return
	}
	role := "web"
	if n%3 == 2 {
		role = "db"
	}
	a, err := h.sim.enrol(map[string]string{"role": role})
	if a != nil && err == nil {
		a.start()
	}
}

var ann = access.Principal{Name: "ann"}

// agent returns the n-th agent, or nil.
func (h *simulated) agent(n int) *simAgent {
	if len(h.agents) == 0 {
		return nil
	}
	return h.agents[n%len(h.agents)]
}

func (h *simulated) do(d operation) {
	h.seen[d.What]++
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	a, hub, run := h.agent(d.N), h.hubs[d.N%len(h.hubs)], h.any()
	switch d.What {
	case "commit":
		h.commit("main", h.site.believed, "")
	case "commit part":
		h.commitPart(d.N)
	case "commit failing":
		h.commit("main", h.site.believed, "cannot")
	case "commit broken":
		h.commit("main", h.site.believed, "broken")
	case "commit stranger":
		h.commit("main", h.site.stranger, "")
	case "commit unsigned":
		h.commit("main", nil, "")
	case "commit shrinking":
		h.shrink()
	case "fix":
		h.commit("fix", h.site.believed, "")
	case "enrol":
		h.enrol(d.N)
	case "hub":
		hub.start()
	case "hub crash":
		if hub.stop != nil {
			hub.stop()
		}
	case "lose":
		h.restore(newShelf())
		h.forgetRevoked()
	case "backup":
		h.saved = h.backup()
	case "restore":
		if h.saved != nil {
			k := h.saved
			h.saved = nil
			h.restore(k)
			h.forgetRevoked()
		}
	case "store fails":
		h.kept.fail(errors.New("the disk is gone"))
		time.Sleep(time.Duration(d.Amount) * time.Second)
		h.kept.fail(nil)
	case "git away":
		h.site.setDown(d.Amount > 40)
	case "depose":
		h.depose(ctx)
	case "wait":
		time.Sleep(time.Duration(d.Amount) * 10 * time.Second)
	case "wait long":
		time.Sleep(time.Duration(d.Amount) * 20 * time.Minute)
	default:
		if a != nil {
			h.toAgent(ctx, d, a, run)
		}
	}
}

// toAgent performs operations on one agent. Some of them need a running hub.
func (h *simulated) toAgent(ctx context.Context, d operation, a *simAgent, run *Hub) {
	switch d.What {
	case "crash":
		a.crash()
		if d.Amount > 20 {
			time.Sleep(time.Duration(d.Amount) * time.Second)
		}
		a.start()
	case "part":
		a.away.Store(true)
	case "heal":
		a.away.Store(false)
	case "full":
		a.full.Store(d.Amount > 50)
	case "clock":
		a.wrongClock(time.Duration(d.Amount-50) * 10 * time.Minute)
	case "faults":
		for _, hub := range h.hubs {
			hub.faulty(d.Amount)
		}
	default:
		if run != nil {
			h.byUsers(ctx, d, a, run)
		}
	}
}

// byUsers performs operations of users.
func (h *simulated) byUsers(ctx context.Context, d operation, a *simAgent, run *Hub) {
	switch d.What {
	case "order":
		h.order(ctx, d, a, run)
	case "fleet rollback":
		h.rollBack(ctx, run, d.N, d.Amount)
	case "fleet release":
		h.releaseFleet(ctx, run, rollbackParts[d.N%5])
	case "pin":
		_ = run.targets.Pin(ctx, ann, a.id.ID, fleet.Pin{Ref: []string{"fix", "main", "none"}[d.Amount%3]})
	case "unpin":
		_ = run.targets.Unpin(ctx, ann, a.id.ID, "")
	case "label":
		_ = run.targets.SetLabels(ctx, ann, a.id.ID, document.LabelRequest{Set: map[string]string{"role": []string{"web",
			"db"}[d.Amount%2]}})
	case "revoke", "retire":
		if len(h.live()) < 2 {
			return
		}
		job := run.targets.Revoke
		if d.What == "retire" {
			job = run.targets.Retire
		}
		if job(ctx, ann, a.id.ID, "for a test") == nil {
			a.mu.Lock()
			a.revoked, a.out = time.Now(), true
			a.mu.Unlock()
		}
	case "freeze":
		_ = run.targets.Freeze(ctx, ann, a.id.ID, document.FreezeRequest{Reason: "for a test"})
	case "thaw":
		_ = run.targets.Unfreeze(ctx, ann, a.id.ID)
	case "request":
		job := document.JobRequest{What: []string{"apply", "report", "verify", "run", "run"}[d.Amount%5]}
		if job.What == fleet.JobRun {
			job.Run = &fleet.Command{Argv: []string{"reboot"}}
		}
		r, err := run.jobs.CreateJob(ctx, ann, job, []fleet.TargetID{a.id.ID})
		if err == nil && d.Amount%2 == 0 {
			_ = run.jobs.CancelJob(ctx, api.Caller{Principal: ann}, route.JobID{Job: r.ID}, document.ReasonRequest{})
		}
	}
}

// shrink commits a version without web servers, and checks that targets without a pin keep their
// modules.
func (h *simulated) shrink() {
	before := map[fleet.TargetID]fleet.Assignment{}
	for _, a := range h.live() {
		was := h.newest(a.id.ID)
		if was.Root.Rollout == "" {
			before[a.id.ID] = was
		}
	}
	h.commit("main", h.site.believed, "shrinking")
	time.Sleep(2 * time.Minute)
	for id, was := range before {
		now := h.newest(id)
		for _, m := range was.Modules {
			if _, has := bundleOf(now, m.Module); !has && now.Root.Rollout == "" {
				h.fault("%s lost %s by a commit that takes it from all", was.Name, m.Module)
			}
		}
	}
	h.commit("main", h.site.believed, "")
}

// newest returns the newest assignment of a target in the store.
func (s *sim) newest(id fleet.TargetID) fleet.Assignment {
	s.mu.Lock()
	k := s.kept
	s.mu.Unlock()
	e, err := k.stores["assignments"].Get(context.Background(), string(id))
	if err != nil {
		return fleet.Assignment{}
	}
	a, _ := k.unpacked(e.Value)
	return a
}

// forgetRevoked: a store without a revocation cannot enforce it.
func (h *simulated) forgetRevoked() {
	for _, a := range h.agents {
		a.mu.Lock()
		a.revoked = time.Time{}
		a.mu.Unlock()
	}
}

// depose takes the lease from the leader.
func (h *simulated) depose(ctx context.Context) {
	s := h.kept.stores["leases"]
	e, err := s.Get(ctx, "leader")
	var c struct {
		Fence uint64 `json:"fence"`
	}
	if err != nil || json.Unmarshal(e.Value, &c) != nil {
		return
	}
	_ = s.Delete(ctx, "leader", e.Rev)
}

// live returns the agents that are not revoked or retired.
func (s *sim) live() []*simAgent {
	return slices.DeleteFunc(slices.Clone(s.agents),
		func(a *simAgent) bool { a.mu.Lock(); defer a.mu.Unlock(); return a.out })
}

// faulty delays, duplicates and drops messages, with a probability in percent.
func (h *simHub) faulty(amount int) {
	h.mu.Lock()
	net := h.net
	h.mu.Unlock()
	if net == nil {
		return
	}
	n := 0
	turn := func(of int) bool { n++; return of > 0 && n%of == 0 }
	if amount < 30 {
		net.SetFaults(bustest.Faults{})
		return
	}
	net.SetFaults(bustest.Faults{
		Delay:     func(string) time.Duration { n++; return time.Duration(n%amount) * 20 * time.Millisecond },
		Duplicate: func(string) bool { return turn(5) },
		Drop:      func(string) bool { return turn(130 - amount) },
	})
}
