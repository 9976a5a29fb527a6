package hub

import (
	"context"
	"fmt"
	"maps"
	"testing/synctest"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/scopes"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/fleet/view"
)

// converge ends all failures, and checks the final state.
func (h *simulated) converge() {
	ctx := context.Background()
	h.kept.fail(nil)
	h.site.setDown(false)
	for _, hub := range h.hubs {
		hub.start()
		hub.faulty(0)
	}
	for _, a := range h.agents {
		a.away.Store(false)
		a.full.Store(false)
		if a.skew.Load() != 0 {
			a.wrongClock(0)
		}
		a.start()
	}
	time.Sleep(2 * time.Minute)
	run := h.any()
	for _, a := range h.live() {
		_, _ = run.records.Targets.Change(ctx, string(a.id.ID), func(t *fleet.Target) error {
			t.Labels, t.Pin = a.labels, nil
			return nil
		})
		_ = run.targets.Unfreeze(ctx, ann, a.id.ID)
	}
	time.Sleep(time.Minute)
	h.approve(ctx, run)
	h.commit("main", h.site.believed, "")
	last := h.site.of(h.site.branches["main"])
	time.Sleep(3 * 5 * time.Minute)
	if h.waves {
		time.Sleep(40 * time.Minute) // windows have opened
		h.finish(ctx)
	}
	synctest.Wait()
	for _, a := range h.live() {
		h.convergedTo(ctx, a, last.bundle)
	}
	h.reported(ctx)
	h.knowTasks()
	if len(h.wrong) == 0 {
		h.rolledBack(ctx, last)
	}
	if len(h.wrong) > 0 {
		h.tellRollouts(ctx)
	}
}

// knowTasks: the verdict of a cluster with members is known, and so is the state of its task, or a user must decide.
func (h *simulated) knowTasks() {
	all, err := scopes.Service{Of: h.any().scopes}.Tasks(context.Background())
	if err != nil || len(all) != 1 {
		h.fault("%d tasks exist, %v", len(all), err)
		return
	}
	t := all[0]
	done := false
	for key := range h.tasks {
		done = done || key == t.Task+" "+t.Digest
	}
	h.seen["task "+string(t.Phase)]++
	switch {
	case t.Phase == document.TaskDone && done, t.Phase == document.TaskUnknown && t.Decide:
	case t.Phase == document.TaskWaiting && t.Waits != "":
	default:
		h.fault("the state of the task is %+v; done: %v", t, done)
	}
}

// approve approves blocked changes: the last target with a module may get another label.
func (h *simulated) approve(ctx context.Context, run *Hub) {
	alarms, err := run.notices.Alarms(ctx)
	if err != nil {
		h.fault("%v", err)
	}
	for _, a := range alarms.Alarms {
		if a.Digest != "" {
			if err := run.notices.ApproveAlarm(ctx, api.Caller{Principal: ann}, route.None{},
				document.ApprovalRequest{Digest: a.Digest}); err != nil {
				h.fault("%v", err)
			}
		}
	}
}

// convergedTo: each host has the configuration of the repository, and the hubs show this.
func (h *simulated) convergedTo(ctx context.Context, a *simAgent, bundle func(part string) fleet.Bundle) {
	a.mu.Lock()
	defer a.mu.Unlock()
	want := map[string]fleet.Bundle{"": bundle(""), "modules/base": bundle("modules/base")}
	role := "modules/" + a.labels["role"]
	want[role] = bundle(role)
	if !maps.Equal(a.stands, want) || !a.ready {
		h.fault("%s did not become what it is to be: %+v", a.name, a.status)
	}
	for _, hub := range h.hubs { // a hub without its connection may show it as unresponsive
		d, err := hub.serving().view.Target(ctx, a.name, time.Now())
		if t := d.Target; err != nil || t.State != document.Ready && t.State != document.Unresponsive ||
			t.Assigned != t.Accepted || t.Behind > 0 {
			h.fault("%s does not see that %s is ready: %+v, %v", hub.name, a.name, t, err)
		}
	}
}

// reported: every acknowledged report is in the log, and counts once.
func (h *simulated) reported(ctx context.Context) {
	there := map[string]bool{}
	for _, r := range h.kept.log.Records() {
		there[string(r)] = true
	}
	h.sim.mu.Lock()
	acked := maps.Clone(h.kept.acked)
	h.sim.mu.Unlock()
	for key, text := range acked {
		if !there[text] {
			h.fault("report %s was acknowledged and is not in the log", key)
		}
	}
	for _, a := range h.live() {
		page, err := h.any().view.Events(ctx, view.EventQuery{Target: a.name, Limit: view.MaxPage})
		if err != nil {
			h.fault("%v", err)
		}
		seen := map[string]bool{}
		for _, e := range page.Events {
			key := fmt.Sprintf("%s %d %s %s %s", e.Kind, e.At, e.Module, e.Text, e.Error)
			if seen[key] {
				h.fault("an event of %s counts twice: %s", a.name, key)
			}
			seen[key] = true
		}
	}
}
