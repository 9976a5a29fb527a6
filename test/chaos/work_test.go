package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// job is a job that a hub was asked for. Each appends its mark to a file on each agent.
type job struct {
	mark    string
	id      string // empty if the hub did not accept it
	refused bool   // the hub reported that nothing was done
}

// answerWithin is how long a hub may take to answer on an idle machine. Answers that take longer
// are logged; those that take longer than patience end the run.
const answerWithin = 10 * time.Second

// work runs operations for a while, beside a fault.
func (c *run) work(r *rand.Rand, d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(300 * time.Millisecond) {
		h := c.hubs[r.IntN(len(c.hubs))]
		kind := r.IntN(10)
		if kind < 3 {
			if !c.unreadable {
				c.commit()
			}
			continue
		}
		if !h.runs() || h.full {
			continue
		}
		switch {
		case kind < 6:
			c.createJob(h)
		case kind < 7:
			c.freezeOne(h, c.agents[r.IntN(len(c.agents))])
		default:
			c.readAll(h)
		}
	}
}

// timed runs a call, and logs it if it is slow.
func (c *run) timed(h *hub, what string, call func(ctx context.Context) error) error {
	ctx, done := context.WithTimeout(c.t.Context(), patience)
	defer done()
	began := time.Now()
	err := call(ctx)
	took := time.Since(began)
	c.calls++
	if took > answerWithin {
		c.slow = append(c.slow, fmt.Sprintf("%s at %s in %s: %s: %v", what, h.named, c.fault, took.Round(time.Millisecond),
			err))
	}
	if took >= patience {
		c.fail("%s: %s at %s: no answer within %s", c.fault, what, h.named, patience)
	}
	return err
}

// createJob starts a job on all agents.
func (c *run) createJob(h *hub) {
	j := job{mark: fmt.Sprintf("job%d", len(c.jobs)+1)}
	err := c.timed(h, "a job", func(ctx context.Context) error {
		r, err := client.Post(ctx, h.client, route.CreateJob(), document.JobRequest{
			What: fleet.JobRun, Select: []string{"*"}, Run: &fleet.Command{
				Argv: []string{"/bin/sh", "-c", "echo " + j.mark + " >>/var/log/jobs; sleep 0.2"}}})
		j.id = r.ID
		return err
	})
	j.refused = isRefused(err)
	c.jobs = append(c.jobs, j)
}

// isRefused tells whether a hub reported that it did nothing.
func isRefused(err error) bool {
	p, ok := errors.AsType[*document.Problem](err)
	return ok && (p.Status == http.StatusConflict || p.Status == http.StatusServiceUnavailable)
}

// freezeOne freezes an agent for a moment. If the answer is an error it stays unknown whether it is
// frozen, until heal removes all freezes.
func (c *run) freezeOne(h *hub, a *agent) {
	_ = c.timed(h, "a freeze", func(ctx context.Context) error {
		_, err := client.Call(ctx, h.client, route.FreezeTarget(), route.TargetName{Target: a.name},
			document.FreezeRequest{Reason: "chaos", For: int64(time.Hour)})
		return err
	})
	c.frozen[a.name] = true
}

// unfreezeAll removes all freezes. It repeats a call until a hub reports success, also if the hub
// shows no freeze: a freeze without an answer may still be on its way to the store, and only the
// removal makes the store refuse it.
func (c *run) unfreezeAll() {
	for name := range c.frozen {
		c.must("unfreeze "+name, func(ctx context.Context) error {
			_, err := client.Call(ctx, c.anyHub().client, route.UnfreezeTarget(), route.TargetName{Target: name},
				document.ReasonRequest{})
			return err
		})
	}
	clear(c.frozen)
}

// anyHub is a hub that runs.
func (c *run) anyHub() *hub {
	i := slices.IndexFunc(c.hubs, func(h *hub) bool { return h.runs() && !h.full })
	return c.hubs[max(i, 0)]
}

// readAll reads the pages of a hub, which must answer as long as it runs, and compares what it
// reports with the hosts.
func (c *run) readAll(h *hub) {
	if !c.ready(h) {
		return // it was just started
	}
	var page document.TargetPage
	for what, call := range map[string]func(ctx context.Context) error{
		"status":  func(ctx context.Context) error { _, err := client.Get(ctx, h.client, route.Status()); return err },
		"hubs":    func(ctx context.Context) error { _, err := client.Get(ctx, h.client, route.Hubs()); return err },
		"alarms":  func(ctx context.Context) error { _, err := client.Get(ctx, h.client, route.Alarms()); return err },
		"modules": func(ctx context.Context) error { _, err := client.Get(ctx, h.client, route.Modules()); return err },
		"targets": func(ctx context.Context) (err error) {
			page, err = client.GetAt(ctx, h.client, route.Targets(), all)
			return err
		},
	} {
		if err := c.timed(h, what, call); err != nil && c.ready(h) {
			c.t.Errorf("%s: %s does not answer %s: %v", c.fault, h.named, what, err)
		}
	}
	c.compareHosts(h, page)
}

// ready tells whether a hub serves: one that starts needs most of the others first.
func (c *run) ready(h *hub) bool {
	ctx, done := context.WithTimeout(c.t.Context(), 20*time.Second)
	defer done()
	_, err := client.Get(ctx, h.client, route.Status())
	return err == nil
}
