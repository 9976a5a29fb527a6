package agent

import (
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/ui/cli"
)

// placeOf returns a function that observes the guests of a machine, or nil if they cannot be observed.
func placeOf(s *cli.Printer, m cli.Machine) func() *fleet.Place {
	if s.App.Agent.Place == nil {
		return nil
	}
	return func() *fleet.Place {
		p, ok := s.App.Agent.Place(m)
		if !ok {
			return nil
		}
		out := &fleet.Place{Machine: p.Machine, Container: p.Container, More: p.More}
		for _, g := range p.Guests {
			out.Guests = append(out.Guests, fleet.Guest{Name: g.Name, State: fleet.GuestState(g.State), Machine: g.Machine})
		}
		return out
	}
}
