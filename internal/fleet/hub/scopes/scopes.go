// Package scopes evaluates the scopes of a fleet, such as clusters, and lets targets do the tasks of scopes.
//
//	s := scopes.New(scopes.Config{Now: time.Now, Records: table, Events: recorder, Observe: observe, Checks: checks, …})
//	s.Declare(revision, declared) // on the leading hub, after each commit
//	err := s.Run(ctx)           // on the leading hub
//
// The tasks of some kinds, such as universe, are done by the leading hub itself: see RunAttempts. It also tests checks
// of these kinds: see RunChecks.
//
// Each hub evaluates verdicts for its users. Only the leading hub stores verdicts, and begins attempts of tasks. It
// stores an attempt with compare-and-set before it creates the job of the attempt. The identity of the job follows from
// the attempt, so two hubs that lead at the same time create the same job.
package scopes

import (
	"context"
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/coordination/task"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/events"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/scope"
	"fettle.dev/fettle/internal/lang/query"
)

// Config contains what Scopes need of their hub.
type Config struct {
	Now     func() time.Time
	Warn    func(text string)
	Records *records.Table
	Events  events.Recorder
	// Observe returns all targets with their state, and Checks the results of checks that targets reported.
	Observe func(ctx context.Context) (map[fleet.TargetID]document.Target, error)
	Checks  func(ctx context.Context) (map[fleet.TargetID][]fleet.CheckResult, error)
	OnHub   OnHub
}

// Scopes are the scopes of a fleet. They are safe for concurrent use.
type Scopes struct {
	Config
	declared  declared
	evaluated evaluated
	began     time.Time // this hub cannot know earlier which targets are connected
	own       ownAttempts
}

// New returns the scopes that the store has.
func New(c Config) *Scopes {
	return &Scopes{Config: c, began: c.Now(), own: ownAttempts{wake: make(chan struct{}, 1)},
		declared: declared{wake: make(chan struct{}, 1), tests: make(chan struct{}, 1)}}
}

// declared are the scopes of the newest commit that the leading hub read. The mutex protects the fields above it.
type declared struct {
	at    fleet.Revision
	all   query.Scopes
	known bool // a commit was read
	mu    sync.Mutex
	wake  chan struct{} // has a value after Declare and Poke
	tests chan struct{} // has a value after Declare, and after a result of a check
}

// Declare sets the scopes that the repository declares at a revision. Run stores them.
func (s *Scopes) Declare(at fleet.Revision, all query.Scopes) {
	s.declared.mu.Lock()
	s.declared.at, s.declared.all, s.declared.known = at, all.WithoutInputs(), true
	s.declared.mu.Unlock()
	s.Poke()
	s.pokeTests()
}

// Poke makes Run evaluate the scopes again soon.
func (s *Scopes) Poke() {
	select {
	case s.declared.wake <- struct{}{}:
	default:
	}
}

// pokeTests makes RunChecks read the declaration and store results.
func (s *Scopes) pokeTests() {
	select {
	case s.declared.tests <- struct{}{}:
	default:
	}
}

// undos returns the tasks that were removed, and whose undo has not ended, sorted by scope and name.
func (s *Scopes) undos() (out []task.State) {
	for _, f := range s.Records.Tasks.Values() {
		if f.State.Unfinished() {
			out = append(out, f.State)
		}
	}
	return out
}

// OnJob is called when a job changes. Run reads the results of tasks from the jobs.
func (s *Scopes) OnJob(r records.Job) {
	if r.Task != nil {
		s.Poke()
	}
}

func (s *Scopes) declaration() (at fleet.Revision, all query.Scopes, known bool) {
	s.declared.mu.Lock()
	defer s.declared.mu.Unlock()
	return s.declared.at, s.declared.all, s.declared.known
}

// restored returns the newest time at which the fleet was restored, or a target proved that the hubs lost data, in ms
// since 1970; 0: never.
func (s *Scopes) restored() int64 {
	e, _, _ := s.Records.Epochs.Get(records.EpochKey)
	lost, _, _ := s.Records.Restorations.Get(records.LossKey)
	return max(e.Restored*1000, lost.At)
}

// settleFor is the time after the start of a hub in which agents connect again. No task begins, and verdicts that
// depend on targets that are not connected do not change.
const settleFor = 2 * time.Minute

// settles reports whether agents still connect again after the start of this hub. One of them can prove that the hubs
// lost data.
func (s *Scopes) settles() bool { return s.Now().Sub(s.began) < settleFor }

// evaluation is the state of all scopes at a time. It is not modified after its creation.
type evaluation struct {
	at      time.Time
	input   scope.Input
	targets map[string]document.Target // by name
	results map[string]scope.Result    // by scope
}

// evaluated is a copy of the newest evaluation, which is expensive to make. The mutex protects the fields above it.
type evaluated struct {
	newest *evaluation
	mu     sync.Mutex
}
