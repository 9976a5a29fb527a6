package hub

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent"
	"fettle.dev/fettle/internal/fleet/agent/claim"
	"fettle.dev/fettle/internal/fleet/agent/durable"
	"fettle.dev/fettle/internal/fleet/agent/machine"
	"fettle.dev/fettle/internal/fleet/agent/member"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/host/mem"
)

// simAgent is a host with an agent. Only the effects of runs are simulated.
type simAgent struct {
	ran    map[string]bool // the requests that something was run for
	sim    *sim
	name   string
	host   string // the machine, for clones
	labels map[string]string
	id     *pki.Identity
	disk   *mem.FS
	stop   func()
	boot   int
	dice   *rand.Rand

	lax        atomic.Bool  // it requires nothing of histories
	away, full atomic.Bool  // isolated from the network; the disk is full
	skew       atomic.Int64 // ns that its clock is ahead

	mu      sync.Mutex
	stands  map[string]fleet.Bundle // the applied bundle, by part
	runs    int
	high    fleet.Have
	ready   bool
	status  fleet.Status
	revoked time.Time     // time of the answer of a hub; a lost store may not have it
	out     bool          // retired or revoked
	slow    time.Duration // more that each run takes
}

func newSimAgent(s *sim, name string, labels map[string]string) *simAgent {
	a := &simAgent{sim: s, name: name, host: name, labels: labels, stands: map[string]fleet.Bundle{},
		dice: rand.New(rand.NewPCG(uint64(len(s.agents)), 7))}
	a.disk = mem.NewFS(mem.Options{Count: a.count})
	if err := errors.Join(a.disk.Mkdir("/agent", 0o700), a.disk.SyncDir("/")); err != nil {
		panic(err)
	}
	return a
}

func (a *simAgent) count(string, string) error {
	if a.full.Load() {
		return errors.New("no space left on device")
	}
	return nil
}

func (a *simAgent) now() time.Time { return time.Now().Add(time.Duration(a.skew.Load())) }

// dial connects to a hub by HTTPS.
func (a *simAgent) dial(ctx context.Context, _, address string) (net.Conn, error) {
	for _, h := range a.sim.hubs {
		h.mu.Lock()
		w := h.wire
		h.mu.Unlock()
		if h.name+":1" == address && w != nil && !a.away.Load() {
			return w.dial(ctx)
		}
	}
	return nil, errors.New("connection refused")
}

func (a *simAgent) client() pki.Client {
	return pki.Client{Directory: pki.Directory{FS: a.disk, Dir: member.IdentityDir("/agent")}, Now: a.now, Dial: a.dial}
}

// simLink is a connection that fails when the host is isolated. It records the acknowledgements of
// hubs.
type simLink struct {
	fleet.Link
	a *simAgent
}

func (l simLink) Ask(ctx context.Context, word string, body []byte) ([]byte, error) {
	l.a.sim.mu.Lock()
	k := l.a.sim.kept
	l.a.sim.mu.Unlock()
	answer, err := l.Link.Ask(ctx, word, body)
	if r, bad := fleet.ParseReport(body); err == nil && word == fleet.MessageReport && bad == nil {
		l.a.sim.mu.Lock()
		if k == l.a.sim.kept {
			k.acked[fmt.Sprintf("%s %d", r.Target, r.Seq)] = string(body)
		}
		l.a.sim.mu.Unlock()
	}
	return answer, err
}

// start starts the agent with the content of its disk.
func (a *simAgent) start() {
	if a.stop != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); a.live(ctx) }()
	a.stop = func() {
		cancel()
		<-ended
		a.stop = nil
	}
}

// live restarts the agent after a failure, as systemd does.
func (a *simAgent) live(ctx context.Context) {
	for ctx.Err() == nil {
		if err := a.once(ctx); err != nil {
			a.sim.note("%s: %v", a.name, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Second):
		}
	}
}

func (a *simAgent) once(ctx context.Context) error {
	warn := func(text string) { a.sim.note("%s: %s", a.name, text) }
	m, err := member.Open(member.Config{Files: a.disk, Dir: "/agent",
		Signers: a.sim.signers,
		Descent: a.descent, Now: a.now, Warn: warn, Dial: a.dial})
	if err != nil {
		return err
	}
	dir, err := durable.Open(a.disk, "/agent")
	if err != nil {
		return err
	}
	link := bus.NewLink(ctx, m.ID(), func(context.Context) (bus.Connection, <-chan struct{}, error) {
		if a.away.Load() || a.sim.any() == nil {
			return nil, nil, errors.New("no route to host")
		}
		id, err := a.client().Directory.Load()
		if err != nil {
			return nil, nil, err
		}
		hubs := a.sim.hubs
		first := rand.IntN(len(hubs))
		c, lost, err := hubs[first].connect(id)
		for i := 1; err != nil && i < len(hubs); i++ {
			c, lost, err = hubs[(first+i)%len(hubs)].connect(id)
		}
		return a.cut(c, lost, err)
	}, bus.Backoff{})
	defer link.Close()
	ag, err := agent.New(agent.Config{
		Machine: machine.Config{Target: m.ID(), Version: "1", Boot: fmt.Sprint(a.boot)}, Dir: dir, Link: simLink{link, a},
		Runner: a, Content: m, Watcher: sightless{},
		Verify:      func(envelope []byte) (fleet.Assignment, error) { return a.verify(m, envelope) },
		Certificate: m.Certificate, Renew: m.Renew,
		Now: a.now, Warn: warn, Notify: a.notified,
		Claims: (&claim.Claimer{Files: a.disk, Dir: "/agent", Link: link,
			Copy: fleet.Copy{Host: a.host, Boot: fmt.Sprint(a.boot)}, Warn: warn}).Run,
	})
	if err != nil {
		return err
	}
	return ag.Run(ctx)
}

// cut ends a connection when the host is isolated from the hubs.
func (a *simAgent) cut(c bus.Connection, lost <-chan struct{}, err error) (bus.Connection, <-chan struct{}, error) {
	if err != nil {
		return nil, nil, err
	}
	go func() {
		for {
			select {
			case <-lost:
				return
			case <-time.After(time.Second):
				if a.away.Load() {
					c.Close()
					return
				}
			}
		}
	}()
	return c, lost, nil
}

// crash is a power failure: unsynced data is lost or not, and a run is complete or not.
func (a *simAgent) crash() {
	if a.stop == nil {
		return
	}
	a.stop()
	old := a.full.Swap(false)
	a.disk = a.disk.CrashClone(a.dice).Counted(a.count)
	a.full.Store(old)
	a.boot++
}

// wrongClock starts the host with a wrong clock. Tests of the agent's machine cover clocks that
// jump while the agent runs: a time that was changed here has no monotonic part.
func (a *simAgent) wrongClock(ahead time.Duration) {
	a.crash()
	a.skew.Store(int64(ahead))
	a.start()
}

// verify is member.Member.Verify. It fails if a hub signed an assignment that was never issued.
func (a *simAgent) verify(m *member.Member, envelope []byte) (fleet.Assignment, error) {
	as, err := m.Verify(envelope)
	if err != nil {
		a.sim.note("%s does not believe: %v", a.name, err)
		return as, err
	}
	if !a.sim.assigned(as) {
		a.sim.fault("%s is given %d.%d, which no hub wrote", a.name, as.Epoch, as.Generation)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.revoked.IsZero() && time.Since(a.revoked) > 5*time.Second {
		a.sim.fault("%s is given %d.%d %s after it was revoked", a.name, as.Epoch, as.Generation, time.Since(a.revoked))
	}
	return as, nil
}

func (a *simAgent) notified(s fleet.Status) {
	a.mu.Lock()
	defer a.mu.Unlock()
	have := fleet.Have{Epoch: s.Epoch, Generation: s.Generation}
	if have.Epoch < a.high.Epoch || have.Epoch == a.high.Epoch && have.Generation < a.high.Generation {
		a.sim.fault("%s goes from %d.%d back to %d.%d", a.name, a.high.Epoch, a.high.Generation, have.Epoch, have.Generation)
	}
	a.high, a.status = have, s
	a.ready = len(s.Modules) > 0 && s.Error == "" &&
		!slices.ContainsFunc(s.Modules, func(m fleet.ModuleStatus) bool { return m.State != fleet.ModuleReady })
}

// Run implements agent.Enforcer: it checks the laws, and applies.
func (a *simAgent) Run(ctx context.Context, run machine.Run, _ func(machine.Event)) machine.Outcome {
	if run.Look {
		return machine.Outcome{Result: machine.Looked}
	}
	a.compilable(run)
	want := map[string]fleet.Bundle{"": run.Want.Root.Bundle}
	for _, m := range run.Want.Modules {
		want[m.Module] = m.Bundle
	}
	a.mu.Lock()
	before := maps.Clone(a.stands)
	a.runs++
	n, takes := a.runs, a.slow+time.Duration(1+a.runs%40)*time.Second
	a.mu.Unlock()
	if !maps.Equal(want, before) {
		a.mayApply(run.Want, before)
	}
	select {
	case <-ctx.Done():
		return machine.Outcome{Result: machine.Stopped}
	case <-time.After(takes):
	}
	return a.apply(run.Want, before, n)
}

// mayApply checks the laws for the runs of an agent.
func (a *simAgent) mayApply(w fleet.Assignment, stands map[string]fleet.Bundle) {
	as, ok := a.sim.given(w.Target, w.Epoch, w.Generation)
	if !ok || w.Target != a.id.ID {
		a.sim.fault("%s applies %d.%d, which nobody assigned", a.name, w.Epoch, w.Generation)
		return
	}
	if as.Frozen != "" || as.Withdrawn != "" {
		a.sim.fault("%s applies %d.%d, though it is frozen (%q) or withdrawn (%q)", a.name, w.Epoch, w.Generation,
			as.Frozen, as.Withdrawn)
	}
	for _, m := range append([]fleet.Assigned{w.Root}, w.Modules...) {
		r := a.sim.site.of(m.Revision.Commit)
		if r == nil || !r.signed && !a.sim.unsigned || r.bundle(m.Module) != m.Bundle {
			a.sim.fault("%s applies %q at %.12s, which no believed key signed", a.name, m.Module, m.Revision.Commit)
		}
		if stands[m.Module] == m.Bundle {
			continue
		}
		for _, n := range m.Needs {
			needed, assigned := bundleOf(as, n.Module)
			if has, there := stands[n.Module]; !there || !assigned || n.Level == fleet.Exact && has != needed.Bundle {
				a.sim.fault("%s applies %s before %s", a.name, m.Module, n.Module)
			}
		}
	}
}

// apply changes the host. The content of a module can make it fail.
func (a *simAgent) apply(w fleet.Assignment, before map[string]fleet.Bundle, n int) machine.Outcome {
	out := machine.Outcome{Result: machine.Done, Run: n, Changes: 1, Checked: true, Parts: map[string]machine.Part{}}
	next := map[string]fleet.Bundle{"": w.Root.Bundle}
	for _, m := range w.Modules {
		r := a.sim.site.of(m.Revision.Commit)
		if r != nil && strings.Contains(r.parts[m.Module]["module.hcl"], "cannot") {
			out.Result, out.Error = machine.Failed, "it cannot be done"
			out.Parts[m.Module] = machine.Part{Error: out.Error, Left: 1}
			if b, ok := before[m.Module]; ok {
				next[m.Module] = b
			}
			continue
		}
		next[m.Module] = m.Bundle
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stands = next
	return out
}

// Command implements agent.Commander: no command runs twice, after any crash and through any hub.
func (a *simAgent) Command(ctx context.Context, act machine.RunJob) machine.JobEnded {
	a.mu.Lock()
	if a.ran == nil {
		a.ran = map[string]bool{}
	}
	twice := a.ran[act.Job.ID]
	a.ran[act.Job.ID] = true
	a.mu.Unlock()
	if twice {
		a.sim.fault("%s runs the request %s twice", a.name, act.Job.ID)
	}
	if t := act.Job.Task; t != nil {
		return a.task(ctx, act.Job.ID, t)
	}
	select {
	case <-ctx.Done():
		return machine.JobEnded{Answer: fleet.JobAnswer{ID: act.Job.ID, Interrupted: true}}
	case <-time.After(20 * time.Second):
	}
	return machine.JobEnded{Answer: fleet.JobAnswer{ID: act.Job.ID,
		Result: &fleet.CommandResult{Exit: 1, Stdout: "up 3 days"}}}
}

// task does a task of a cluster, which no target may do twice: its result is never a failure, and no user decides.
func (a *simAgent) task(ctx context.Context, id string, t *fleet.TaskAttempt) machine.JobEnded {
	a.sim.mu.Lock()
	if a.sim.tasks == nil {
		a.sim.tasks = map[string]uint64{}
	}
	key := t.Task + " " + t.Digest
	before, twice := a.sim.tasks[key]
	a.sim.tasks[key] = t.Fence
	// A fence is at least the time in ms. After a loss of data, the hubs notice it if the target has newer assignments.
	permitted := before < a.sim.lost && !a.sim.provers[a.id.ID]
	a.sim.mu.Unlock()
	if twice && !permitted {
		a.sim.fault("%s does the task %s with the fence %d, which was done with the fence %d", a.name, key, t.Fence, before)
	}
	select {
	case <-ctx.Done():
		return machine.JobEnded{Answer: fleet.JobAnswer{ID: id, Interrupted: true}}
	case <-time.After(20 * time.Second):
	}
	if a.sim.failing.Load() {
		return machine.JobEnded{Answer: fleet.JobAnswer{ID: id, Task: fleet.TaskFailed, Error: "exit status 1"}}
	}
	return machine.JobEnded{Answer: fleet.JobAnswer{ID: id, Task: fleet.TaskDone}}
}

// LocalFreeze implements agent.Enforcer.
func (a *simAgent) LocalFreeze(context.Context) (machine.LocalFreeze, error) {
	return machine.LocalFreeze{}, nil
}

// Managed implements agent.Enforcer.
func (a *simAgent) Managed(context.Context) (agent.Managed, error) { return agent.Managed{}, nil }

// sightless is a watcher for hosts on which no file changes by itself.
type sightless struct{}

func (sightless) Watch(agent.Managed) error { return nil }
func (sightless) Run(ctx context.Context, _ func()) error {
	<-ctx.Done()
	return nil
}
