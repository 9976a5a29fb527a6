package elastic_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet/elastic"
)

// maxSkew is the largest error of a clock that is wrong, in ms.
const maxSkew = 600_000

// judge checks a history. It knows the truth, and uses no code of the package except the names of values.
type judge struct {
	*world
	last     *elastic.Decision
	lastAt   int64
	lastBy   string
	left     map[string]int64 // when each node stopped being a hub or a nominee
	size     int
	grown    int64 // when the size became larger or smaller
	shrunk   int64
	leaderAt int64
	skewed   bool // a clock was wrong
	log      []string
	broken   []string
}

func newJudge(w *world) *judge {
	return &judge{world: w, left: map[string]int64{}, leaderAt: w.now}
}

func (j *judge) failf(format string, args ...any) {
	j.broken = append(j.broken, fmt.Sprintf("%ds: ", j.now/1000%100_000)+fmt.Sprintf(format, args...))
}

func (j *judge) note(format string, args ...any) {
	j.log = append(j.log, fmt.Sprintf("%ds: ", j.now/1000%100_000)+fmt.Sprintf(format, args...))
}

// watch checks what must hold at each time.
func (j *judge) watch() {
	for _, m := range j.machines {
		if j.near(m) {
			m.nearAt = j.now
		}
	}
	for _, h := range j.hubs {
		if !j.good(h) {
			h.badAt = j.now
		}
	}
	voters := j.voters()
	if len(voters)%2 == 0 && j.stored.Pending.Kind != elastic.Vote && j.lastKind() != elastic.Vote {
		j.failf("%d voters", len(voters))
	}
	if len(voters) == 0 || len(voters) > 9 { // four of five are exchanged: the new voters first
		j.failf("%d voters", len(voters))
	}
	if j.leader != "" {
		j.leaderAt = j.now
	}
	j.watchSize()
}

func (j *judge) lastKind() elastic.Kind {
	if j.last == nil {
		return elastic.Nothing
	}
	return j.last.Kind
}

// watchSize checks that the size changes slowly: after each change of the size, the load must be high or low for the
// whole time that the policy requires. Operators change the size at once.
func (j *judge) watchSize() {
	size := j.stored.Size
	switch {
	case j.size == 0 || size == j.size || strings.Contains(j.stored.SizeReason, "olic"):
	case size > j.size:
		if after := j.now - j.shrunk; after < 15_000 {
			j.failf("the size grows %d ms after it became smaller", after)
		}
		j.grown = j.now
	default:
		if after := j.now - max(j.grown, j.shrunk); after < j.policy.ShrinkAfter.Milliseconds()-25_000 {
			j.failf("the size shrinks %d ms after its last change", after)
		}
		j.shrunk = j.now
	}
	j.size = size
}

// accepts checks a decision that the leader will store.
func (j *judge) accepts(d elastic.Decision) {
	j.note("%s: %s %s %v: %s", j.leader, d.Kind, d.Name, d.Voters, d.Reason)
	follow := d.Kind == elastic.Withdraw || d.Kind == elastic.Retire
	if j.last != nil && !follow && j.lastBy == j.leader && j.now-j.lastAt < j.policy.Interval.Milliseconds() {
		j.failf("%s follows %s after %d ms", d.Kind, j.last.Kind, j.now-j.lastAt)
	}
	if d.Reason == "" || strings.HasSuffix(d.Reason, ".") {
		j.failf("the reason of %s is %q", d.Kind, d.Reason)
	}
	switch d.Kind {
	case elastic.Nominate:
		j.nominates(d)
	case elastic.Vote:
		j.votes(d.Voters)
	case elastic.Empty, elastic.Retire, elastic.Withdraw:
		j.removes(d)
	default:
		j.failf("the change %q is new", d.Kind)
	}
	j.last, j.lastAt, j.lastBy = &d, j.now, j.leader
}

func (j *judge) nominates(d elastic.Decision) {
	m := j.machine(d.Name)
	if !m.willing || j.hubs[d.Name] != nil || j.now-m.nearAt > 0 {
		j.failf("%s cannot be nominated", d.Name)
	}
	most := int64(25_000) // by which clocks of leaders differ, with the time of a step
	if j.skewed {
		most = 2 * maxSkew
	}
	if at, was := j.left[d.Name]; was && j.now-at < j.policy.RetryAfter.Milliseconds()-most {
		j.failf("%s is nominated %d ms after it left", d.Name, j.now-at)
	}
	failed := 0 // a hub that seems to have failed
	for _, h := range j.hubs {
		if !j.good(h) || j.now-h.ready < 200_000 {
			failed++
		}
	}
	if len(j.hubs)-failed >= max(j.policy.Max, j.fixed())+1 {
		j.failf("%s is nominated, and there are %d hubs", d.Name, len(j.hubs))
	}
}

func (j *judge) fixed() (n int) {
	for _, h := range j.hubs {
		if h.fixed {
			n++
		}
	}
	return n
}

// votes checks the next voters: an odd number, and most of them answered within the time of a heartbeat.
func (j *judge) votes(voters []string) {
	if len(voters)%2 == 0 || len(voters) > j.policy.Voters || !slices.IsSorted(voters) {
		j.failf("%v vote", voters)
	}
	good := 0
	for _, name := range voters {
		h := j.hubs[name]
		if h == nil {
			j.failf("%s votes and is not a hub", name)
			return
		}
		if j.now >= h.ready && j.now-h.nearAt <= elastic.FreshFor.Milliseconds() {
			good++
		} else if !h.voter {
			j.failf("%s gets a vote, and is not ready", name)
		}
	}
	if 2*good <= len(voters) {
		j.failf("%d of %v can vote", good, voters)
	}
}

func (j *judge) removes(d elastic.Decision) {
	if d.Kind != elastic.Empty {
		j.left[d.Name] = j.now
	}
	h := j.hubs[d.Name]
	if h == nil {
		return // a nominee that never became a hub
	}
	if h.voter || h.fixed {
		j.failf("%s leaves and must stay", d.Name)
	}
	if d.Kind == elastic.Retire && h.agents > 0 && j.now-j.lastAt < j.policy.EmptyWithin.Milliseconds()-5000 &&
		j.now-h.badAt > 60_000 {
		j.failf("%s retires with %d agents", d.Name, h.agents)
	}
}

// retires checks the removal of a hub.
func (j *judge) retires(h *hub) {
	if h.voter || h.fixed || len(j.hubs) == 1 {
		j.failf("%s is removed", h.name)
	}
}

// end checks the fleet after a long time without faults.
func (j *judge) end(quiet time.Duration) {
	if j.leader == "" {
		j.failf("no hub leads")
		return
	}
	if j.policy.Mode != elastic.Act {
		return
	}
	if j.now-j.lastAt < quiet.Milliseconds() {
		j.failf("hubs still change")
	}
	n, unused := 0, j.unused()
	for _, h := range j.all() {
		if j.good(h) {
			n++
		} else if !h.fixed && !h.voter {
			j.failf("%s does not work and is a hub", h.name)
		}
	}
	load := float64(j.agents) / 1000
	if load/float64(n) >= j.policy.High+0.01 && n < j.policy.Max && unused > 0 && !j.mutes() {
		j.failf("the load of %d hubs is %.2f", n, load/float64(n))
	}
	if n > max(j.policy.Max, j.fixed())+1 {
		j.failf("there are %d hubs", n)
	}
	j.endVoters(n)
	if less := j.less(n); less < n && load/float64(less) < j.policy.Low-0.01 && !j.mutes() && j.loose() {
		j.failf("%d hubs have the load %.2f", n, load)
	}
}

func (j *judge) endVoters(n int) {
	voters, domains, used := j.voters(), map[string]int{}, map[string]int{}
	for _, h := range voters {
		if domains[h.domain]++; !j.good(h) && n >= len(voters) {
			j.failf("%s votes and does not work", h.name)
		}
	}
	for _, h := range j.all() {
		if j.good(h) {
			used[h.domain]++
		}
	}
	want := min(j.policy.Voters, n-1+n%2)
	if len(voters) != want && !(len(voters) < want && len(voters) == min(j.policy.Voters, j.size-1+j.size%2)) {
		j.failf("%d of %d hubs vote", len(voters), n)
	}
	if len(domains) < min(len(voters), len(used)) {
		j.failf("voters are in %v of %v", domains, used)
	}
}

// less returns the next smaller size.
func (j *judge) less(n int) int {
	fixed := 0
	for _, h := range j.hubs {
		if h.fixed && !h.gone {
			fixed++
		}
	}
	low := max(j.policy.Min, fixed)
	if n == 3 {
		return min(3, low)
	}
	return max(n-1, low)
}

func (j *judge) mutes() bool {
	return slices.ContainsFunc(j.all(), func(h *hub) bool { return h.mute && !h.gone })
}

// loose reports whether a hub can be retired.
func (j *judge) loose() bool {
	return slices.ContainsFunc(j.all(), func(h *hub) bool { return !h.fixed })
}

func (j *judge) unused() (n int) {
	for _, m := range j.machines {
		if m.willing && !m.broken && j.near(m) && j.hubs[m.name] == nil {
			n++
		}
	}
	return n
}
