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
)

// Config is what an agent is made of. All but Certificate, Renew, Forbid, Programs, Serve, Claims,
// Calm, Warn and Notify are needed.
type Config struct {
	Machine machine.Config
	Dir     *durable.Dir
	Link    fleet.Link
	Runner  Enforcer
	Content Content
	Watcher Watcher
	// Verify opens an envelope and believes it or does not.
	Verify func(envelope []byte) (fleet.Assignment, error)
	// Certificate is the life of the one in use, in seconds since 1970, and Renew gets
	// the next one. nil: there is none.
	Certificate func() (from, until int64)
	Renew       func(ctx context.Context) error
	// Forbid gets to know that certificates of services are forbidden, and keeps it; nil:
	// nobody does.
	FetchRevocations func(ctx context.Context, all string) error
	// Programs replaces this program; nil: nobody does.
	Binaries Binaries
	// Serve serves the executor of this machine over a stream that a hub opened, and
	// closes it. nil: nobody is served.
	Serve func(ctx context.Context, header []byte, stream io.ReadWriteCloser)
	// Claims shows to hubs that this host is not a clone, until ctx ends. It calls numbered with the
	// number of the newest report that a hub has. nil makes no claims.
	Claims func(ctx context.Context, numbered func(seq uint64)) error
	Now    func() time.Time
	// Warn is told, in a sentence, what people may want to know of this process.
	Warn func(text string)
	// Calm is called when nothing was to be done for some time: what only work needs can be
	// given back. worked tells whether there was a run since the last time. nil: nothing is
	// given back.
	Calm func(worked bool)
	// Notify is told each status, at most once for each event; see Status.
	Notify func(fleet.Status)
}

// Enforcer does the runs; Runner is one.
type Enforcer interface {
	Run(ctx context.Context, run machine.Run, tell func(machine.Event)) machine.Outcome
	LocalFreeze(ctx context.Context) (string, error)
	Managed(ctx context.Context) (Managed, error)
}

// Agent is one that was made and not yet run.
type Agent struct {
	cfg        Config
	m          *machine.Machine
	start      time.Time
	events     chan machine.Event
	ups        <-chan bool
	wake       *time.Timer
	rest       *time.Timer
	worked     bool // since it rested last
	leave      bool // for another program
	reportBase reportBase
	work       sync.WaitGroup

	watching sync.Mutex // what is watched is read and set as one

	mu       sync.Mutex
	envelope []byte
	waiting  map[string][]chan fleet.JobAnswer // for the acknowledgement of a request
}

// New makes an agent that goes on from what its directory has.
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

// Run does what the machine says until ctx ends. A run that is under way then is stopped
// cleanly, and waited for. It is called once. The error is ErrReplace when the agent has
// ended for another program to go on.
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
			if err := a.cfg.Claims(ctx, func(seq uint64) { a.post(ctx, machine.Numbered{Seq: seq}) }); err != nil && ctx.Err() == nil {
				a.cfg.Warn(err.Error())
			}
		})
	}
	a.step(ctx, machine.Started{})
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
			if asked, ok := e.(machine.JobReceived); ok && asked.Job.What == fleet.JobReport && asked.Job.Arg == fleet.FullReport {
				a.reportBase.tellAll()
			}
			a.step(ctx, e)
		case up := <-a.ups:
			a.reportBase.connected()
			a.step(ctx, machine.Link{Up: up})
		case <-a.wake.C:
			a.step(ctx, machine.Tick{})
		case <-a.rest.C:
			if a.cfg.Calm != nil {
				a.cfg.Calm(a.worked)
				a.worked = false
			}
		case <-ctx.Done():
			return a.end(ctx)
		}
	}
}

// end takes in what the work that is under way still has to say.
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

// last keeps how the last work ended, and begins nothing any more.
func (a *Agent) last(e machine.Event) {
	for _, act := range a.m.Step(e, a.now()) {
		switch act := act.(type) {
		case machine.Persist:
			if err := a.cfg.Dir.Save(act.Kept); err != nil {
				a.cfg.Warn(err.Error())
			}
		case machine.Append:
			if err := a.cfg.Dir.Append(act.Report); err != nil {
				a.cfg.Warn(err.Error())
			}
		}
	}
}

// spawn starts work that end waits for.
func (a *Agent) spawn(f func()) {
	a.work.Add(1)
	go func() {
		defer a.work.Done()
		f()
	}()
}

// post hands an event to the loop. Work that has ended always gets it there; what only
// came by gives up when the agent ends.
func (a *Agent) post(ctx context.Context, e machine.Event) {
	select {
	case a.events <- e:
	case <-ctx.Done():
	}
}

func (a *Agent) now() machine.Now {
	now := a.cfg.Now()
	return machine.Now{Wall: now.UnixNano(), Mono: now.Sub(a.start)}
}

func (a *Agent) step(ctx context.Context, e machine.Event) {
	for _, act := range a.m.Step(e, a.now()) {
		if ctx.Err() != nil {
			return
		}
		a.perform(ctx, act)
	}
	a.cfg.Notify(a.m.Status())
	if _, ran := e.(machine.Ran); ran {
		a.worked = true
	}
	a.rest.Reset(restAfter)
}

// restAfter is how long nothing happens before the agent rests. Its heartbeats are
// further apart.
const restAfter = 10 * time.Second

func (a *Agent) certified(ctx context.Context) {
	if a.cfg.Certificate != nil {
		from, until := a.cfg.Certificate()
		a.step(ctx, machine.Certificate{From: from, Until: until})
	}
}

// rewatch watches what is managed now.
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

// insist tries what has to be durable until it is, or the agent ends: nothing that
// follows it may be done before.
func (a *Agent) insist(ctx context.Context, f func() error) {
	for wait := time.Second; ; wait = min(2*wait, time.Minute) {
		err := f()
		if err == nil {
			return
		}
		a.cfg.Warn(fmt.Sprintf("%v; it is tried again in %s", err, wait))
		if pause(ctx, wait) != nil {
			return
		}
	}
}
