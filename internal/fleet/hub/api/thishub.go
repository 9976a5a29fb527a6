package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// ThisHub is the hub that answers.
type ThisHub interface {
	// Health returns at once.
	Health(ctx context.Context) document.Health
	// Check examines the hub. It may take some seconds.
	Check(ctx context.Context) document.HubCheck
}

// Summary counts the targets of the fleet. *view.View implements it.
type Summary interface {
	Status(ctx context.Context, now time.Time) (document.Status, error)
}

// HandleThisHub registers the handlers of the hub that answers.
func HandleThisHub(t *Table, b ThisHub) {
	handleProbes(t, b)
	HandleGet(t, route.Description(), func(context.Context) (map[string]any, error) { return OpenAPI(), nil })
	Handle(t, route.WhoAmI(), func(ctx context.Context, c Caller, _, _ route.None) (document.CurrentUser, error) {
		p := document.CurrentUser{Format: document.CurrentUserFormat, Name: c.Name, Rights: []string{},
			Hub: b.Health(ctx).Hub, Organization: string(c.Organization)}
		for _, r := range Rights() {
			if c.May(r) {
				p.Rights = append(p.Rights, string(r))
			}
		}
		p.Grants = t.grants(ctx, c)
		return p, nil
	})
	HandleGet(t, route.Health(), func(ctx context.Context) (document.Health, error) {
		h := b.Health(ctx)
		h.Format = document.HealthFormat
		if h.Checks == nil {
			h.Checks = []document.Check{}
		}
		return h, nil
	})
	HandleGet(t, route.Check(), func(ctx context.Context) (document.HubCheck, error) {
		d := b.Check(ctx)
		d.Checks = append([]document.HubFinding{}, d.Checks...)
		return d, nil
	})
}

// grants returns the grants of the user. A target without the right read has no name.
func (t *Table) grants(ctx context.Context, c Caller) (out []document.UserGrant) {
	for _, g := range c.Grants() {
		d := document.UserGrant{Role: string(g.Role), Organization: string(g.Organization), Labels: g.Labels}
		for _, id := range g.Targets {
			target := document.GrantTarget{ID: id}
			if found, err := t.targets.Target(ctx, string(id), c.Now); err == nil {
				target.Name = found.Target.Name
			}
			d.Targets = append(d.Targets, target)
		}
		out = append(out, d)
	}
	return out
}

// handleProbes registers the handlers of routes for monitoring. The answers to clients that need no
// authentication are only yes or no.
func handleProbes(t *Table, b ThisHub) {
	handleCall(t, route.Healthz(), func(c *call, _ route.None) (any, error) { return nil, c.text(http.StatusOK, "ok") })
	handleCall(t, route.Readyz(), func(c *call, _ route.None) (any, error) {
		if b.Health(c.r.Context()).Ready {
			return nil, c.text(http.StatusOK, "ready")
		}
		return nil, c.text(http.StatusServiceUnavailable, "not ready")
	})
	handleCall(t, route.Metrics(), func(c *call, _ route.None) (any, error) {
		if c.h.Metrics == nil {
			return nil, fail(http.StatusNotFound, "There are no metrics",
				"this hub was started without metrics", "Start it with metrics")
		}
		c.said = true
		c.h.Metrics.ServeHTTP(c.w, c.r)
		return nil, nil
	})
}

// HandleStatus registers the handler of the summary of the fleet.
func HandleStatus(t *Table, v Summary, b FleetFreezes) {
	Handle(t, route.Status(), func(ctx context.Context, c Caller, _, _ route.None) (document.Status, error) {
		s, err := v.Status(ctx, c.Now)
		if err == nil {
			s.Freeze, err = b.FrozenAll(ctx)
		}
		return s, err
	})
}

// text sends a text.
func (c *call) text(status int, text string) error {
	c.said = true
	c.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	c.w.WriteHeader(status)
	_, err := fmt.Fprintln(c.w, text)
	return err
}
