//go:build !target

package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
)

func newHubList(s *session) *cobra.Command {
	var w watching
	c := &cobra.Command{
		Use:   "list",
		Short: "List the hubs of the fleet, and their redundancy",
		Long: `Shows for each hub whether it is available and up to date. It also shows the
leader, and the hub with the key of the fleet CA. All data is stored on up to
three hubs. A hub is lost if the fleet was restored from a backup that lists the
hub. A lost hub is no longer part of the fleet.`,
		Example: "  fettle hub list\n  fettle hub list --watch",
		Args:    args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return showing(c.Context(), s, w, func(hub *client.Client) (document.HubPage, error) { return hub.Hubs(c.Context()) }, s.showHubs)
		},
	}
	w.flag(c)
	return c
}

func (s *session) showHubs(p document.HubPage) {
	rows := [][]string{}
	for _, h := range p.Hubs {
		is := "away"
		switch {
		case h.Here && h.Current:
			is = "here"
		case h.Here:
			is = fmt.Sprintf("here, %d behind", h.Lag)
		}
		var does []string
		if h.Leads {
			does = append(does, "leads")
		}
		if h.Authority {
			does = append(does, "authority")
		}
		at := ""
		if len(h.Hubs) > 0 {
			at = h.Hubs[0]
		}
		rows = append(rows, []string{h.Name, is, cmp.Or(strings.Join(does, ", "), "-"), s.ago(h.Joined), at})
	}
	for _, h := range p.Lost {
		does := "-"
		if h.Authority {
			does = "authority"
		}
		rows = append(rows, []string{h.Name, "lost", does, s.ago(h.Joined), strings.Join(h.Hubs[:min(1, len(h.Hubs))], "")})
	}
	s.style().Table(s.app.Stdout, []string{"HUB", "IS", "DOES", "SINCE", "AT"}, rows)
	s.printf("\n%s\n", assurance(p))
	if len(p.Lost) > 0 {
		s.printf("\nA lost hub is not in this fleet any more, since the fleet was restored from a backup: never start it again.\nEnd that it is trusted: fettle hub retire %s\n", p.Lost[0].Name)
	}
}

// assurance is what a person has to know of how safe it all is.
func assurance(p document.HubPage) string {
	state := fmt.Sprintf("Everything is on %d hubs.", p.Copies)
	switch {
	case p.Nats:
		return natsAssurance(p)
	case len(p.Hubs) == 1:
		return "Everything is on this hub alone: while it is away agents go on with what they have."
	case !p.Whole && p.Copies == 0:
		state = "What is kept where cannot be told: most hubs have to be there for that."
	case !p.Whole:
		state = "Not everything is where it is to be yet."
	}
	switch {
	case p.Spare == 1:
		return state + " One hub may be lost, and all goes on."
	case p.Spare > 1:
		return state + fmt.Sprintf(" %d hubs may be lost, and all goes on.", p.Spare)
	case len(p.Hubs) == 2:
		return state + " While either is away nothing can be changed, and agents go on with what they have: a third hub helps."
	}
	return state + " While another is away nothing can be changed, and agents go on with what they have."
}

// natsAssurance is assurance where everything is kept by others.
func natsAssurance(p document.HubPage) string {
	state := fmt.Sprintf("Everything is on %d servers of the NATS cluster.", p.Copies)
	switch {
	case p.Copies == 0:
		return "The NATS cluster does not say what it keeps: nothing can be changed while it is away, and agents go on with what they have."
	case !p.Whole:
		state = "Not everything is on as many servers of the NATS cluster as it is to be."
	case p.Copies == 1:
		state = "Everything is on one server of the NATS cluster: while that is away nothing can be changed, and agents go on with what they have."
	}
	switch {
	case p.Spare == 0:
		return state + " No other hub is there: agents go on with what they have while this one is away."
	case p.Spare == 1:
		return state + " One hub may be lost, and all goes on."
	}
	return state + fmt.Sprintf(" %d hubs may be lost, and all goes on.", p.Spare)
}
