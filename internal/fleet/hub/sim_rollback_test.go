package hub

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/rollouts"
)

// siteParts are the parts of each commit of a history.
var siteParts = []string{"", "modules/base", "modules/web", "modules/db"}

// rollbackParts are the parts of orders.
var rollbackParts = []string{assign.AllParts, assign.RootPart, "modules/base", "modules/web", "modules/db"}

// rollbacks is the judge of rollbacks of the fleet. It knows the orders and the commits, and the assignments that hubs
// write, but no rollouts.
type rollbacks struct {
	orders   map[string]fleetOrder // by part
	main     []*revision           // commits of the branch that the fleet follows
	last     map[fleet.TargetID]fleet.Assignment
	before   map[fleet.TargetID]map[string]string // digest of the content before the present one, by part
	returned int                                  // targets that returned to held content
	judged   int                                  // parts that would be wrong with the held content
}

type fleetOrder struct {
	held, to string // commits
	at       time.Time
}

// newRollbacks returns a judge without orders.
func newRollbacks() *rollbacks {
	return &rollbacks{orders: map[string]fleetOrder{}, last: map[fleet.TargetID]fleet.Assignment{},
		before: map[fleet.TargetID]map[string]string{}}
}

// slow is the time after which each hub knows an order.
const slow = time.Minute

// holds returns the digest that no target may get for a part, or "": the content of the branch since the order, if
// the newest order about the part replaces it.
func (j *rollbacks) holds(s *site, part string) string {
	var o fleetOrder
	for of, one := range j.orders {
		if (of == assign.AllParts || of == part || of == assign.RootPart && part == "") && one.at.After(o.at) {
			o = one
		}
	}
	if o.held == "" || time.Since(o.at) < slow {
		return ""
	}
	from, to := s.of(o.held).bundle(part).Digest, s.of(o.to).bundle(part).Digest
	since := slices.IndexFunc(j.main, func(r *revision) bool { return r.info.Commit == o.held })
	if from == to || since < 0 || slices.ContainsFunc(j.main[since:],
		func(r *revision) bool { return r.bundle(part).Digest != from }) {
		return ""
	}
	return from
}

// judge checks a written assignment: no target that follows the branch gets held content, except that a target returns
// to the content that it had before, because the replacing content failed on it.
func (j *rollbacks) judge(s *sim, a fleet.Assignment) {
	was := j.last[a.Target]
	j.last[a.Target] = a
	before := j.before[a.Target]
	if before == nil || a.Withdrawn != "" {
		before = map[string]string{}
		j.before[a.Target] = before
	}
	for _, part := range siteParts {
		had, _ := bundleOf(was, part)
		has, ok := bundleOf(a, part)
		if !ok || has.Bundle.Digest == had.Bundle.Digest {
			continue
		}
		held := j.holds(s.site, part)
		if held != "" {
			j.judged++
		}
		if has.Rollout == "" && has.Bundle.Digest == held {
			if before[part] != held {
				s.wrong = append(s.wrong, "the target "+a.Name+" gets held content of "+part)
			}
			j.returned++
		}
		before[part] = had.Bundle.Digest
	}
}

func (h *Hub) fleetRollbacks() rollouts.FleetRollbacks {
	return rollouts.FleetRollbacks{Log: h.rollouts, Now: h.now, Records: &h.records,
		Branch: func() string { return h.repository.Repository().Branch }, Events: h.events}
}

// rollBack orders a rollback of the fleet: of one part or all parts, to stable content or one of the newest commits.
// Usually a commit precedes, and a target or another commit follows.
func (h *simulated) rollBack(ctx context.Context, run *Hub, n, amount int) {
	part := rollbackParts[n%len(rollbackParts)]
	if amount%4 > 0 {
		h.commitPart(max(0, slices.Index(siteParts, part)))
		time.Sleep(time.Duration(amount) * 2 * time.Second)
	}
	to := "stable"
	if amount%3 > 0 {
		to = h.judge.main[max(0, len(h.judge.main)-2-amount%6)].info.Commit
	}
	if _, err := h.orderRollback(ctx, run, part, to); err != nil || amount%5 == 0 {
		return
	}
	time.Sleep(slow)
	h.enrol(amount)
	h.commitPart(amount)
	h.note("another commit and target")
}

// orderRollback orders a rollback, and tells the judge.
func (h *simulated) orderRollback(ctx context.Context, run *Hub, part, to string) (text string, err error) {
	h.sim.mu.Lock()
	was := h.judge.orders
	h.judge.orders = map[string]fleetOrder{} // it can be stored in spite of an error
	h.sim.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	r := document.FleetRollbackRequest{Part: part, To: to}
	if c := h.site.of(to); c != nil && !h.unsigned {
		r.Permit = h.permit(c)
	}
	done, err := run.fleetRollbacks().RollBackFleet(ctx, api.Caller{Principal: ann}, r)
	h.note("rollback of %s to %s: %s, %v", part, to, done.Text, err)
	h.tellJudge(run, was)
	switch {
	case err != nil:
		h.seen["rollback refused"]++
	case strings.HasPrefix(text, "Held"):
		h.seen["rolled back"]++
	default:
		h.seen["rollback without effect"]++
	}
	return text, err
}

// tellJudge reads the orders that are in force.
func (h *simulated) tellJudge(run *Hub, was map[string]fleetOrder) {
	h.sim.mu.Lock()
	defer h.sim.mu.Unlock()
	h.judge.orders = map[string]fleetOrder{}
	for _, r := range run.records.Replacements.Values() {
		o := fleetOrder{r.Held, r.Commit, time.Now()}
		if old := was[r.Part]; old.held == o.held && old.to == o.to {
			o.at = old.at
		}
		h.judge.orders[r.Part] = o
	}
}

// releaseFleet ends rollbacks of the fleet. The judge knows only what remains afterwards.
func (h *simulated) releaseFleet(ctx context.Context, run *Hub, part string) {
	h.sim.mu.Lock()
	was := h.judge.orders
	h.judge.orders = map[string]fleetOrder{}
	h.sim.mu.Unlock()
	_, err := run.fleetRollbacks().ReleaseFleet(ctx, api.Caller{Principal: ann}, document.FleetReleaseRequest{Part: part})
	h.note("release of %s: %v", part, err)
	time.Sleep(time.Second)
	h.tellJudge(run, was)
	if err == nil {
		h.seen["released"]++
	}
}

// committed tells the judge about a commit.
func (h *simulated) committed(branch string, r *revision) {
	h.sim.mu.Lock()
	defer h.sim.mu.Unlock()
	if branch == "main" {
		h.judge.main = append(h.judge.main, r)
	}
}

// commitPart commits other content of one part.
func (h *simulated) commitPart(n int) {
	h.n++
	parts, part := maps.Clone(h.site.of(h.site.branches["main"]).parts), siteParts[n%len(siteParts)]
	files := maps.Clone(parts[part])
	name := "module.hcl"
	if part == "" {
		name = "fettle.hcl"
	}
	files[name] += fmt.Sprintf("# %d\n", h.n)
	parts[part] = files
	h.committed("main", h.site.commit("main", h.site.believed, parts))
}
