package hub

import (
	"context"
	"fmt"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/rollout"
)

// atOnce is the part of a configuration that delivers changes at once, and inWaves in waves.
const (
	atOnce  = "policy { rollout = \"at-once\" }\n"
	inWaves = `
policy { rollout = "waves" }
rollout "waves" {
  wave "first" {
    size = 1
    approval "board" {}
    webhook "tests" { failure_limit = 1 }
  }
  wave "rest" { max_unavailable = "50%" }
  min_ready_time    = "5s"
  silent_after      = "2m"
  progress_deadline = "10m"
  wave_timeout      = "30m"
}
`
)

// windowInterval is the time between the beginnings of two windows of inWindows.
const windowInterval = 30 * time.Minute

// inWindows is inWaves with windows, which are open for ten minutes of each half hour.
const inWindows = `
policy {
  rollout = "waves"
  windows = ["often"]
}
window "often" {
  schedule = "*/30 * * * *"
  duration = "10m"
}
`

// delivered returns the configuration of the newest commit of a fleet in waves. Every other commit has windows, and
// some commits select delivery at once.
func (h *simulated) delivered(text string) string {
	if h.n%5 == 4 {
		return text
	}
	if h.n%2 == 0 {
		return strings.Replace(text, atOnce, strings.Replace(inWaves, "policy { rollout = \"waves\" }\n", inWindows, 1), 1)
	}
	return strings.Replace(text, atOnce, inWaves, 1)
}

// followPresence tells each hub which agents are connected to the other hubs, as hubs do through the bus.
func (s *sim) followPresence(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(2 * time.Second):
		}
		for _, h := range s.hubs {
			if run := h.serving(); run != nil {
				s.tellPresence(run)
			}
		}
	}
}

func (s *sim) tellPresence(run *Hub) {
	for _, a := range s.live() {
		here := false
		for _, h := range s.hubs {
			other := h.serving()
			here = here || other != nil && other.exchange.IsConnected(a.id.ID)
		}
		if !run.exchange.IsConnected(a.id.ID) {
			run.view.RecordConnection(a.id.ID, here)
		}
	}
}

// order gives a command for one of the rollouts. Many have no meaning, and are refused.
func (h *simulated) order(ctx context.Context, d operation, a *simAgent, run *Hub) {
	all, err := run.rolloutService().Rollouts(ctx)
	if err != nil || len(all) == 0 {
		return
	}
	actions := []rollout.Action{rollout.ToPause, rollout.ToResume, rollout.ToAbort, rollout.ToRollback, rollout.ToPromote,
		rollout.ToSkip, rollout.ToRetry, rollout.ToRelease, rollout.ToApprove, rollout.ToReject, rollout.ToJudge,
		rollout.ToApprove, rollout.ToJudge}
	c := rollout.Command{Rollout: all[d.Amount%min(3, len(all))].ID, Action: actions[d.Amount%len(actions)], By: "ann"}
	if c.Action == rollout.ToJudge {
		c.Verdict = []rollout.Verdict{rollout.Pass, rollout.Pass, rollout.Fail, rollout.Unclear}[d.Amount%4]
	}
	if c.Action == rollout.ToSkip || c.Action == rollout.ToRetry {
		c.Target = a.id.ID
	}
	err = run.rolloutService().OrderRollout(ctx, c)
	h.note("%s %s %s: %v", c.Action, c.Rollout, c.Target, err)
}

// yield orders everything that lets all targets have the newest content.
func (h *simulated) yield(ctx context.Context, run *Hub) {
	all, err := run.rolloutService().Rollouts(ctx)
	if err != nil {
		return
	}
	for _, r := range all {
		h.command(ctx, run, rollout.Command{Rollout: r.ID, Action: rollout.ToResume})
		h.command(ctx, run, rollout.Command{Rollout: r.ID, Action: rollout.ToRelease})
		h.command(ctx, run, rollout.Command{Rollout: r.ID, Action: rollout.ToApprove})
		h.command(ctx, run, rollout.Command{Rollout: r.ID, Action: rollout.ToJudge, Verdict: rollout.Pass})
		d, err := run.rolloutService().Rollout(ctx, r.ID)
		if err != nil {
			continue
		}
		for _, t := range d.Targets {
			if t.State == string(rollout.MemberSkipped) {
				for _, a := range h.live() {
					h.command(ctx, run, rollout.Command{Rollout: r.ID, Action: rollout.ToRetry, Target: a.id.ID})
				}
			}
		}
	}
}

func (h *simulated) command(ctx context.Context, run *Hub, c rollout.Command) {
	c.By = "ann"
	if run.rolloutService().OrderRollout(ctx, c) == nil {
		h.note("%s %s %s", c.Action, c.Rollout, c.Target)
	}
}

// finish waits until all rollouts have ended. It orders everything that can end them.
func (h *simulated) finish(ctx context.Context) {
	for began := time.Now(); time.Since(began) < 3*time.Hour; time.Sleep(time.Minute) {
		run := h.any()
		h.approve(ctx, run)
		h.yield(ctx, run)
		if h.settled(ctx, run) {
			return
		}
	}
}

// settled reports whether every rollout has ended and each target has its desired content.
func (h *simulated) settled(ctx context.Context, run *Hub) bool {
	all, err := run.rolloutService().Rollouts(ctx)
	if err != nil {
		return false
	}
	for _, r := range all {
		if !rollout.Phase(r.Phase).Final() {
			return false
		}
	}
	for _, a := range h.live() {
		d, err := run.view.Target(ctx, a.name, time.Now())
		if err != nil || d.Target.State != document.Ready {
			return false
		}
	}
	return true
}

// tellRollouts writes the state of the rollouts to the story.
func (h *simulated) tellRollouts(ctx context.Context) {
	run := h.any()
	all, _ := run.rolloutService().Rollouts(ctx)
	for _, r := range all {
		d, _ := run.rolloutService().Rollout(ctx, r.ID)
		h.note("rollout %s %s", r.ID, fmt.Sprintf("%+v", d))
	}
	for _, a := range h.live() {
		d, err := run.view.Target(ctx, a.name, time.Now())
		h.note("target %s labels %v: %+v, %v", a.name, a.labels, d.Target, err)
	}
	alarms, _ := run.notices.Alarms(ctx)
	for _, a := range alarms.Alarms {
		h.note("alarm %+v", a)
	}
}
