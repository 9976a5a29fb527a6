package hub

import (
	"context"

	"fettle.dev/fettle/internal/fleet/document"
)

// Health returns the health of this hub.
func (h *Hub) Health(context.Context) document.Health {
	d := document.Health{Format: document.HealthFormat, Ready: true, Hub: h.set.Name, Leads: h.leader.Leads()}
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
