package agent

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/machine"
	"fettle.dev/fettle/internal/fleet/scope/checks"
)

// askFor is the time limit of a request to a hub.
const askFor = time.Minute

// perform executes one action of the state machine: quick and durable actions immediately, all
// other actions in the background.
func (a *Agent) perform(ctx context.Context, act machine.Action) {
	switch act := act.(type) {
	case machine.Persist:
		a.insist(ctx, func() error { return a.cfg.Dir.Save(act.State) })
		a.mu.Lock()
		a.envelope = act.State.Envelope
		a.mu.Unlock()
	case machine.Append:
		a.insist(ctx, func() error { return a.cfg.Dir.Append(act.Report) })
		a.reportBase.appended(act.Report)
	case machine.Drop:
		a.insist(ctx, func() error { return a.cfg.Dir.Drop(act.Seq) })
	case machine.Wake:
		a.wake.Reset(act.In)
	case machine.AcknowledgeJob:
		a.answer(act.Answer)
	case machine.Beat:
		if body, err := json.Marshal(act.Beat); err == nil {
			_ = a.cfg.Link.Tell(fleet.MessageBeat, body) // if it is lost, the next heartbeat follows soon
		}
	case machine.ConfirmBinary:
		a.insist(ctx, a.cfg.Binaries.Settled)
	case machine.Leave:
		a.leave = true
	case machine.Send:
		a.send(ctx, act.Seq)
	default:
		a.begin(ctx, act)
	}
}

// begin starts an action that takes time, in the background.
func (a *Agent) begin(ctx context.Context, act machine.Action) {
	switch act := act.(type) {
	case machine.Ask:
		a.spawn(func() { a.ask(ctx, act.Have) })
	case machine.Fetch:
		a.spawn(func() {
			err := a.cfg.Content.Fetch(ctx, act.Assignment)
			a.post(ctx, machine.Fetched{Epoch: act.Assignment.Epoch, Generation: act.Assignment.Generation, Error: textOf(err),
				Refused: errors.Is(err, ErrNever)})
		})
	case machine.Run:
		a.spawn(func() { a.run(ctx, act) })
	case machine.RunJob:
		a.spawn(func() { a.events <- a.act(ctx, act) }) // the loop takes it, even when it ends
	case machine.SendJobAnswer:
		a.spawn(func() { a.inform(ctx, act.Answer) })
	case machine.Publish:
		a.spawn(func() { a.publish(ctx, act.Exports) })
	case machine.Retain:
		a.spawn(func() {
			if err := a.cfg.Content.Retain(act.Digests); err != nil {
				a.cfg.Warn(err.Error())
			}
		})
	case machine.Thaw:
		a.spawn(func() {
			if f, err := a.cfg.Runner.LocalFreeze(ctx); err == nil {
				a.post(ctx, f)
			}
		})
	case machine.Prepare:
		a.spawn(func() { a.prepare(ctx, act.Binary) })
	case machine.ReadScopes:
		if a.tester != nil {
			a.tester.Applied(checks.Composition{Has: *act.Has, Absent: act.Absent})
		}
	case machine.Renew:
		a.spawn(func() { a.renew(ctx) })
	}
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// run executes a run, and then watches the paths and units that it applied.
func (a *Agent) run(ctx context.Context, r machine.Run) {
	out := a.cfg.Runner.Run(ctx, r, func(e machine.Event) { a.post(ctx, e) })
	if out.Run > 0 && ctx.Err() == nil {
		a.rewatch(ctx)
	}
	a.events <- machine.Ran{Outcome: out} // the loop takes it, even when it ends
}

func (a *Agent) renew(ctx context.Context) {
	err := errors.New("this agent was configured without the renewal of certificates")
	if a.cfg.Renew != nil {
		err = a.cfg.Renew(ctx)
	}
	if err != nil {
		a.cfg.Warn("cannot renew the certificate: " + err.Error())
	} else if a.cfg.Certificate != nil {
		from, until := a.cfg.Certificate()
		a.post(ctx, machine.Certificate{From: from, Until: until})
	}
	a.post(ctx, machine.Renewed{Error: textOf(err)})
}

func (a *Agent) ask(ctx context.Context, have fleet.Have) {
	body, err := json.Marshal(have)
	if err == nil {
		var envelope []byte
		asking, cancel := context.WithTimeout(ctx, askFor)
		envelope, err = a.cfg.Link.Ask(asking, fleet.MessageAssignment, body)
		cancel()
		if err == nil && len(envelope) > 0 {
			a.offer(ctx, envelope)
		}
	}
	a.post(ctx, machine.Answered{Error: textOf(err)})
}

// offer verifies an assignment from a hub, and passes the result to the state machine.
func (a *Agent) offer(ctx context.Context, envelope []byte) {
	as, err := a.cfg.Verify(envelope)
	var newer *fleet.NewerError
	if errors.As(err, &newer) {
		a.post(ctx, machine.Newer{Why: err.Error(), Binary: newer.Binary})
		return
	}
	if err != nil {
		a.post(ctx, machine.Forged{Why: err.Error()})
		return
	}
	a.post(ctx, machine.Offered{Assignment: as, Envelope: envelope})
}

// act executes the command of a job.
func (a *Agent) act(ctx context.Context, act machine.RunJob) machine.JobEnded {
	c, ok := a.cfg.Runner.(Commander)
	if !ok {
		return machine.JobEnded{Answer: fleet.JobAnswer{ID: act.Job.ID,
			Error: "cannot run commands: this agent was configured without commands"}}
	}
	return c.Command(ctx, act)
}

// inform sends the result of a job to a hub.
func (a *Agent) inform(ctx context.Context, d fleet.JobAnswer) {
	body, err := json.Marshal(d)
	if err == nil {
		asking, cancel := context.WithTimeout(ctx, askFor)
		_, err = a.cfg.Link.Ask(asking, fleet.MessageJobAnswer, fleet.Compress(body))
		cancel()
	}
	a.post(ctx, machine.JobAnswerSent{ID: d.ID, Error: textOf(err)})
}

// publish sends the exported values of this target to a hub.
func (a *Agent) publish(ctx context.Context, e fleet.Exports) {
	body, err := json.Marshal(e)
	if err == nil {
		asking, cancel := context.WithTimeout(ctx, askFor)
		_, err = a.cfg.Link.Ask(asking, fleet.MessageExports, body)
		cancel()
	}
	a.post(ctx, machine.Published{Exports: e, Error: textOf(err)})
}

// send sends a report to a hub. It reads the report before it starts the goroutine, because only
// the loop may use the outbox.
func (a *Agent) send(ctx context.Context, seq uint64) {
	body, err := a.reportBase.body(seq, a.cfg.Now(), a.cfg.Dir.Report)
	a.spawn(func() {
		if err == nil {
			asking, cancel := context.WithTimeout(ctx, askFor)
			_, err = a.cfg.Link.Ask(asking, fleet.MessageReport, fleet.Compress(body))
			cancel()
		}
		a.post(ctx, machine.Acked{Seq: seq, Error: textOf(err)})
	})
}
