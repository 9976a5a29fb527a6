package hub

import (
	"context"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// Repositories returns the repository that the fleet follows, or an empty list.
func (h *Hub) Repositories(context.Context) ([]document.Repository, error) {
	r := h.repository()
	if r.URL == "" {
		return []document.Repository{}, nil
	}
	d := document.Repository{Name: r.Name, URL: r.URL, Branch: r.Branch}
	if ref, _, ok := h.records.Refs.Get(records.RefKey(r.Branch)); ok {
		d.Commit, d.Subject, d.Read, d.Error = ref.Revision.Commit, ref.Revision.Subject, ref.Read, ref.Error
	}
	return []document.Repository{d}, nil
}

// Health returns the health of this hub.
func (h *Hub) Health(context.Context) document.Health {
	h.mu.Lock()
	leads := h.leader != nil
	h.mu.Unlock()
	d := document.Health{Format: document.HealthFormat, Ready: true, Hub: h.set.Name, Leads: leads}
	check := func(name string, err error) {
		c := document.Check{Name: name}
		if err != nil {
			c.Error, d.Ready = err.Error(), false
		}
		d.Checks = append(d.Checks, c)
	}
	check("bus", h.bus.Healthy())
	for _, err := range h.records.Assignments.Unreadable() {
		check("assignments", err)
	}
	return d
}
