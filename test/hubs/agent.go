package hubs

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/fleet/route"
)

// Agent is an enrolled target. It has a real identity and a real connection, but no host: it applies
// nothing.
type Agent struct {
	Name string
	ID   fleet.TargetID
	// Job answers the jobs of the agent. If it is nil, the agent acknowledges every job. Like an agent,
	// it accepts a job that runs a command, and sends the answer afterwards.
	Job func(fleet.Job) fleet.JobAnswer
	// Serve serves the executor of the target. If it is nil, the agent closes each stream.
	Serve func(ctx context.Context, header fleet.ExecutorHeader, stream io.ReadWriteCloser)

	hub *Hub
	id  *pki.Identity
	seq uint64 // of the last report

	mu   sync.Mutex // handlers run after the link is closed, too
	link *bus.Link  // nil while it is disconnected
	jobs sync.WaitGroup
}

// Enrol enrols a target with a new token. It is not connected yet. If the target waits for approval,
// it has no identity and cannot connect.
func Enrol(ctx context.Context, h *Hub, name string, terms document.TokenRequest) (*Agent, error) {
	t, err := client.Post(ctx, h.Root, route.CreateToken(), terms)
	if err != nil {
		return nil, err
	}
	token, err := pki.ParseToken(t.Secret)
	if err != nil {
		return nil, err
	}
	enrolment := pki.Client{Directory: pki.Directory{FS: h.files, Dir: filepath.Join(h.dir, "agents", name)}, Now: h.Time}
	a := &Agent{Name: name, hub: h}
	a.id, err = enrolment.Enrol(ctx, h.URL, token, name)
	if errors.Is(err, pki.ErrPending) {
		return a, nil
	}
	if err != nil {
		return nil, err
	}
	a.ID = a.id.ID
	h.onClose = append(h.onClose, func() { _ = a.Disconnect() })
	return a, nil
}

// Connect connects the agent, and waits until the hub shows it as connected.
func (a *Agent) Connect(ctx context.Context) error {
	link, err := bus.Dial(ctx, bus.LinkConfig{ID: a.ID, URLs: a.id.BusURLs, TLS: func() (*tls.Config, error) {
		return a.id.TLS(nil, a.hub.Time, func() time.Time { return time.Time{} }), nil
	}})
	if err != nil {
		return err
	}
	a.become(link)
	if err := link.Serve(fleet.MessageJob, a.onJob); err != nil {
		return err
	}
	if err := link.ServeStreams(fleet.MessageExecutor, a.onExecutor); err != nil {
		return err
	}
	return a.await(ctx, "the connection of "+a.Name, func(t document.Target) bool { return t.Connected })
}

// Disconnect ends the connection, and waits for accepted jobs.
func (a *Agent) Disconnect() error {
	link := a.become(nil)
	if link == nil {
		return nil
	}
	err := link.Close()
	a.jobs.Wait()
	return err
}

// become sets the link, and returns the previous one.
func (a *Agent) become(link *bus.Link) (before *bus.Link) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before, a.link = a.link, link
	return before
}

// connected returns the link, or ErrNoHub.
func (a *Agent) connected() (*bus.Link, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.link == nil {
		return nil, fleet.ErrNoHub
	}
	return a.link, nil
}

// later runs a job in the background. It fails if the agent is disconnected.
func (a *Agent) later(do func()) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.link == nil {
		return fleet.ErrNoHub
	}
	a.jobs.Go(do)
	return nil
}

func (a *Agent) onJob(ctx context.Context, body []byte) ([]byte, error) {
	j, err := fleet.ParseJob(body)
	if err != nil {
		return nil, err
	}
	var answer fleet.JobAnswer
	if a.Job != nil {
		answer = a.Job(j)
	}
	answer.ID = j.ID
	if j.What != fleet.JobRun {
		return json.Marshal(answer)
	}
	// If the link closes meanwhile, the job stays accepted.
	send := func() { _ = a.ask(context.WithoutCancel(ctx), fleet.MessageJobAnswer, answer, nil) }
	if err := a.later(send); err != nil {
		return nil, err
	}
	return json.Marshal(fleet.JobAnswer{ID: j.ID, Accepted: true})
}

func (a *Agent) onExecutor(ctx context.Context, body []byte, stream io.ReadWriteCloser) {
	var header fleet.ExecutorHeader
	if a.Serve == nil || json.Unmarshal(body, &header) != nil {
		_ = stream.Close()
		return
	}
	a.Serve(ctx, header, stream)
}

// await waits until the hub shows a state of the target.
func (a *Agent) await(ctx context.Context, what string, done func(document.Target) bool) error {
	_, err := Await(ctx, what, func() (document.TargetDetail, error) {
		return client.GetAt(ctx, a.hub.Root, route.Target(), route.TargetName{Target: a.Name})
	}, func(d document.TargetDetail) bool { return done(d.Target) })
	return err
}

// ask sends a message to the hub, and decodes its answer into out, if there is one.
func (a *Agent) ask(ctx context.Context, message string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	link, err := a.connected()
	if err != nil {
		return err
	}
	answer, err := link.Ask(ctx, message, body)
	if err != nil || out == nil {
		return err
	}
	return json.Unmarshal(answer, out)
}

// Assigned waits for an assignment with some modules.
func (a *Agent) Assigned(ctx context.Context, modules int) (fleet.Assignment, error) {
	keys := a.id.Keys(nil, a.hub.Time(), time.Time{})
	link, err := a.connected()
	if err != nil {
		return fleet.Assignment{}, err
	}
	return Await(ctx, "the assignment of "+a.Name, func() (fleet.Assignment, error) {
		body, err := json.Marshal(fleet.Have{})
		if err != nil {
			return fleet.Assignment{}, err
		}
		envelope, err := link.Ask(ctx, fleet.MessageAssignment, body)
		if err != nil || len(envelope) == 0 {
			return fleet.Assignment{}, err
		}
		return fleet.OpenAssignment(envelope, keys)
	}, func(as fleet.Assignment) bool { return len(as.Modules) == modules })
}

// Report sends the next report, and waits until it is in the read model.
func (a *Agent) Report(ctx context.Context, e fleet.Event, s fleet.Status) error {
	a.seq++
	err := a.ask(ctx, fleet.MessageReport, fleet.Report{Format: fleet.ReportFormat, Target: a.ID, Seq: a.seq, Boot: "b",
		At: a.hub.Time().UnixNano(), Event: e, Status: s}, nil)
	if err != nil {
		return err
	}
	_, err = Await(ctx, "the report of "+a.Name, func() (document.EventPage, error) {
		return client.GetAt(ctx, a.hub.Root, route.Events(), route.EventQuery{Target: a.Name, Limit: 1})
	}, func(p document.EventPage) bool { return len(p.Events) == 1 && p.Events[0].Kind == string(e.Kind) })
	return err
}

// Request sends a request of the agent for its own target.
func (a *Agent) Request(ctx context.Context, r fleet.Request) (answer fleet.RequestAnswer, err error) {
	err = a.ask(ctx, fleet.MessageRequest, r, &answer)
	return answer, err
}

// Acquire requests a slot of a lock for a run.
func (a *Agent) Acquire(ctx context.Context, lock string) (answer fleet.SlotAnswer, err error) {
	err = a.ask(ctx, fleet.MessageSlot, fleet.SlotRequest{Action: fleet.SlotAcquire, Lock: lock}, &answer)
	return answer, err
}
