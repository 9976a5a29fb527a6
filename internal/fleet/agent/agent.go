package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/durable"
	"fettle.dev/fettle/internal/fleet/agent/machine"
	"fettle.dev/fettle/internal/fleet/scope/checks"
)

// Config contains the dependencies of an agent. All fields are required, except Certificate, Renew,
// FetchRevocations, Binaries, Serve, Claims, OnIdle, Warn and Notify.
type Config struct {
	Machine machine.Config
	Dir     *durable.Dir
	Link    fleet.Link
	Runner  Enforcer
	Content Content
	Watcher Watcher
	// Verify opens an envelope and returns its assignment if the signature is valid. A NewerError
	// means that a newer version of fettle wrote the assignment.
	Verify func(envelope []byte) (fleet.Assignment, error)
	// Certificate returns the validity of the current certificate, in seconds since 1970. Renew
	// gets the next certificate. nil: the agent has no certificate.
	Certificate func() (from, until int64)
	Renew       func(ctx context.Context) error
	// FetchRevocations fetches and stores the revocation lists; all names the certificates that
	// they must contain, as HUB/SERIAL separated by spaces. nil: the agent manages no certificates
	// of services.
	FetchRevocations func(ctx context.Context, all string) error
	// Binaries replaces the binary of this agent; nil: upgrades are refused.
	Binaries Binaries
	// Serve serves the executor of this host over a stream that a hub opened, and closes the
	// stream. nil: streams are refused.
	Serve func(ctx context.Context, header []byte, stream io.ReadWriteCloser)
	// Claims shows to hubs that this host is not a clone, until ctx ends. It calls numbered with the
	// number of the newest report that a hub has. nil makes no claims.
	Claims func(ctx context.Context, numbered func(seq uint64)) error
	Now    func() time.Time
	// Zone returns the time zone of the host, or "" if it is unknown. It is called at most once per minute. nil: unknown.
	Zone func() string
	// Place returns the guests of the host, or nil if they are unknown. It is called at most once per minute. nil: they
	// are unknown.
	Place func() *fleet.Place
	// Warn is called with a complete sentence for the log of this process.
	Warn func(text string)
	// OnIdle is called after 10 seconds without events, so that the process can release memory.
	// worked reports whether a run ended since the last call. nil: nothing is released.
	OnIdle func(worked bool)
	// Notify is called with the status after each event, from the loop. It must not block.
	Notify func(fleet.Status)
}

// Enforcer executes runs. Runner implements it.
type Enforcer interface {
	Run(ctx context.Context, run machine.Run, tell func(machine.Event)) machine.Outcome
	LocalFreeze(ctx context.Context) (machine.LocalFreeze, error)
	Managed(ctx context.Context) (Managed, error)
}

// Agent connects the state machine to the network, the disk and the executor. One goroutine, the
// loop in Run, owns all fields except the fields below watching and mu.
type Agent struct {
	cfg        Config
	m          *machine.Machine
	start      time.Time
	zone       reread[string]
	place      reread[*fleet.Place]
	events     chan machine.Event
	ups        <-chan bool
	wake       *time.Timer
	rest       *time.Timer
	worked     bool // a run ended since the last call of OnIdle
	leave      bool // end, so that a different binary can take over
	reportBase reportBase
	tester     *checks.Tester[checks.Composition] // of checks of scopes; nil: the runner cannot test any
	work       sync.WaitGroup

	watching sync.Mutex // serializes rewatch

	mu       sync.Mutex
	envelope []byte
	waiting  map[string][]chan fleet.JobAnswer // channels that get the answer when a job is durable, by the ID of the job
}

// New makes an agent with the stored state of its directory.
func New(cfg Config) (*Agent, error) {
	kept, err := cfg.Dir.Load()
	if err != nil {
		return nil, err
	}
	newest, dropped := cfg.Dir.Reports()
	if cfg.Warn == nil {
		cfg.Warn = func(string) {}
	}
	if cfg.Notify == nil {
		cfg.Notify = func(fleet.Status) {}
	}
	return &Agent{
		cfg: cfg, m: machine.New(cfg.Machine, kept, newest, dropped), start: cfg.Now(), envelope: kept.Envelope,
		events: make(chan machine.Event), waiting: map[string][]chan fleet.JobAnswer{},
	}, nil
}

// Run executes the actions of the state machine until ctx ends. It stops a run in progress cleanly,
// and waits for it. Run must be called only once. The error is ErrReplace if a different binary
// must continue.
func (a *Agent) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	a.wake = time.NewTimer(time.Hour)
	defer a.wake.Stop()
	a.rest = time.NewTimer(restAfter)
	defer a.rest.Stop()
	if err := a.connect(); err != nil {
		return err
	}
	a.spawn(func() {
		err := a.cfg.Watcher.Run(ctx, func() { a.post(ctx, machine.Touched{}) })
		if err != nil && ctx.Err() == nil {
			a.post(ctx, machine.Watched{Why: err.Error()})
		}
	})
	if a.cfg.Claims != nil {
		a.spawn(func() {
			if err := a.cfg.Claims(ctx, func(seq uint64) { a.post(ctx, machine.Numbered{Seq: seq}) }); err != nil &&
				ctx.Err() == nil {
				a.cfg.Warn(err.Error())
			}
		})
	}
	a.tester = testerOf(a.cfg.Runner, func(all []fleet.CheckResult) { a.post(ctx, machine.ChecksChanged{Results: all}) })
	a.step(ctx, machine.Started{})
	a.testChecks(ctx)
	a.certified(ctx)
	a.rewatch(ctx)
	for {
		if a.leave {
			stop()
			return errors.Join(a.end(ctx), ErrReplace)
		}
		select {
		case e := <-a.events:
			if acked, ok := e.(machine.Acked); ok {
				a.reportBase.acknowledged(acked.Seq, acked.Error != "", a.cfg.Now())
			}
			if asked, ok := e.(machine.JobReceived); ok && asked.Job.What == fleet.JobReport &&
				asked.Job.Arg == fleet.FullReport {
				a.reportBase.tellAll()
			}
			a.step(ctx, e)
		case up := <-a.ups:
			a.reportBase.connected()
			a.step(ctx, machine.Link{Up: up})
		case <-a.wake.C:
			a.step(ctx, machine.Tick{})
		case <-a.rest.C:
			if a.cfg.OnIdle != nil {
				a.cfg.OnIdle(a.worked)
				a.worked = false
			}
		case <-ctx.Done():
			return a.end(ctx)
		}
	}
}

// testChecks tests checks of scopes in the background. The results of the previous process count until the next test.
func (a *Agent) testChecks(ctx context.Context) {
	if t := a.tester; t != nil {
		t.Target, t.Known = string(a.cfg.Machine.Target), a.m.Status().Checks
		t.Now, t.Warn = a.cfg.Now, a.cfg.Warn
		a.spawn(func() { t.Run(ctx) })
	}
}

// end stops the state machine, waits for the work in the background, and stores the outcome of a
// run or a job.
func (a *Agent) end(ctx context.Context) error {
	a.m.End()
	done := make(chan struct{})
	go func() { a.work.Wait(); close(done) }()
	for {
		select {
		case e := <-a.events:
			switch e.(type) {
			case machine.Ran, machine.JobEnded:
				a.last(e)
			}
		case <-done:
			return nil
		}
	}
}

// last stores the outcome of the last work. It starts no new work.
func (a *Agent) last(e machine.Event) {
	for _, act := range a.m.Step(e, a.now()) {
		switch act := act.(type) {
		case machine.Persist:
			if err := a.cfg.Dir.Save(act.State); err != nil {
				a.cfg.Warn(err.Error())
			}
		case machine.Append:
			if err := a.cfg.Dir.Append(act.Report); err != nil {
				a.cfg.Warn(err.Error())
			}
		}
	}
}

// spawn starts a goroutine. end waits for it.
func (a *Agent) spawn(f func()) {
	a.work.Add(1)
	go func() {
		defer a.work.Done()
		f()
	}()
}

// post passes an event to the loop, or drops it if ctx ended. Outcomes of runs and jobs must not be
// lost, so they do not use post.
func (a *Agent) post(ctx context.Context, e machine.Event) {
	select {
	case a.events <- e:
	case <-ctx.Done():
	}
}

func (a *Agent) now() machine.Now {
	now := a.cfg.Now()
	mono := now.Sub(a.start)
	return machine.Now{Wall: now.UnixNano(), Mono: mono, Zone: a.zone.at(mono, a.cfg.Zone),
		Place: a.place.at(mono, a.cfg.Place)}
}

func (a *Agent) step(ctx context.Context, e machine.Event) {
	for _, act := range a.m.Step(e, a.now()) {
		if ctx.Err() != nil {
			return
		}
		a.perform(ctx, act)
	}
	a.cfg.Notify(a.m.Status())
	switch e.(type) {
	case machine.Ran, machine.JobEnded: // both can compile
		a.worked = true
	}
	a.rest.Reset(restAfter)
}

// restAfter is the time without events before OnIdle is called. It must be shorter than the interval
// of heartbeats.
const restAfter = 10 * time.Second

func (a *Agent) certified(ctx context.Context) {
	if a.cfg.Certificate != nil {
		from, until := a.cfg.Certificate()
		a.step(ctx, machine.Certificate{From: from, Until: until})
	}
}

// rewatch makes the watcher watch the paths and units that are applied now.
func (a *Agent) rewatch(ctx context.Context) {
	a.spawn(func() {
		a.watching.Lock()
		defer a.watching.Unlock()
		m, err := a.cfg.Runner.Managed(ctx)
		if err == nil {
			err = a.cfg.Watcher.Watch(m)
		}
		why := ""
		if err != nil {
			why = err.Error()
		}
		a.post(ctx, machine.Watched{Why: why})
	})
}

// insist repeats f until it succeeds or ctx ends. The loop must not continue before the result of f
// is durable.
func (a *Agent) insist(ctx context.Context, f func() error) {
	for wait := time.Second; ; wait = min(2*wait, time.Minute) {
		err := f()
		if err == nil {
			return
		}
		a.cfg.Warn(fmt.Sprintf("%v; the agent tries again in %s", err, wait))
		if pause(ctx, wait) != nil {
			return
		}
	}
}
