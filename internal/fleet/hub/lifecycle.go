package hub

import (
	"context"
	"errors"

	"fettle.dev/fettle/internal/fleet/coordination/task"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/metrics"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/hub/scopes"
)

// scopesLater are the scopes of a hub. The part of the hub is created after its metrics.
type scopesLater struct{ h *Hub }

func (s scopesLater) Scopes(ctx context.Context) ([]document.Scope, error) {
	return scopes.Service{Of: s.h.scopes}.Scopes(ctx)
}

func (s scopesLater) Tasks(ctx context.Context) ([]document.ScopeTask, error) {
	return scopes.Service{Of: s.h.scopes}.Tasks(ctx)
}

// open opens the directory and starts the bus. Agents can connect then, but they get answers only
// after serve was called.
func (h *Hub) open(ctx context.Context) error {
	if err := h.openDirectory(); err != nil {
		return err
	}
	h.metrics = metrics.New(metrics.Options{Views: h.view, Health: h.Health, Now: h.now, Version: h.conf.Version,
		Redundancy: h.members.Redundancy, Load: h.load.Load, Rollouts: func(ctx context.Context) ([]document.Rollout, error) {
			return h.rolloutService().Rollouts(ctx) // its parts are created later
		}, Scopes: scopesLater{h}})
	if err := h.startBus(ctx); err != nil {
		return err
	}
	if err := h.openStores(ctx); err != nil {
		return err
	}
	if err := h.backups.Load(ctx); err != nil {
		return err
	}
	if err := h.openAccess(); err != nil {
		return err
	}
	h.notices.Config = noticesConfig(&h.core, h.Health)
	h.parts = newParts(&h.core, h.onReleased)
	h.watchMirrors()
	return nil
}

// watchMirrors connects the mirrors with the parts of the hub that follow their changes.
func (h *Hub) watchMirrors() {
	r := &h.records
	r.Members.Changed = h.members.OnMember
	r.Signers.Changed = h.members.OnSigner
	r.Targets.Changed = h.onTarget
	r.Assignments.Changed = func(key string, g records.Assignment, rev uint64, gone bool) {
		h.leader.OnAssignment(key, g, rev, gone)
		h.agents.OnRecord(key, g, rev, gone)
	}
	r.Jobs.Changed = func(_ string, r records.Job, _ uint64, gone bool) {
		if !gone {
			h.jobs.Offer(h.ctx, r)
			h.scopes.OnJob(r)
		}
	}
	r.Tasks.Changed = func(_ string, f records.Formatted[task.State], _ uint64, gone bool) {
		if !gone {
			h.scopes.OnTask(f.State)
		}
	}
	r.RevocationLists.Changed = h.certificates.OnList
	r.Repositories.Changed = func(string, records.Repository, uint64, bool) { h.repository.Refollow() }
	h.leader.Watch()
}

// waitForMirrors waits until all mirrors are filled. Then it starts to serve agents.
func (h *Hub) waitForMirrors(ctx context.Context) error {
	if err := h.records.Filled(ctx); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-h.targets.Filled():
	}
	err := errors.Join(h.members.Register(ctx), introduce(ctx, &h.core, h.repository), h.requests.Begin(ctx))
	if err != nil {
		return err
	}
	h.exchange.Presence(h.onPresence)
	if err := h.serve(); err != nil {
		return err
	}
	close(h.mirrorsFilled)
	h.members.SaveCache()
	return nil
}

func (h *Hub) close() error {
	var errs []error
	if h.bus != nil {
		h.bus.Close()
	}
	if h.view != nil {
		errs = append(errs, h.view.Close())
	}
	return errors.Join(errs...)
}
