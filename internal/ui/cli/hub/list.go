package hub

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
)

func newHubList(s *cli.Session) *cobra.Command {
	var w hubclient.Watching
	c := &cobra.Command{
		Use:   "list",
		Short: "List the hubs of the fleet, and their redundancy",
		Long: `Shows for each hub whether it is available and up to date, and the number of
agents that are connected to it. It also shows the leader, the hubs with a vote
in the store, and the hub with the key of the fleet CA. LOAD has the used part
of the CPUs, and numbers that are higher than usual. DOMAIN is the failure
domain, such as a data center. All data is stored on up to three hubs. A hub is
lost if the fleet was restored from a backup that lists the hub. A lost hub is
no longer part of the fleet.`,
		Example: "  fettle hub list\n  fettle hub list --watch",
		Args:    cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return hubclient.ShowingRoute(c.Context(), s.Printer, w, route.Hubs(), showHubs)
		},
	}
	w.Flag(c)
	return c
}

func showHubs(s *cli.Printer, p document.HubPage) {
	rows := [][]string{}
	for _, h := range p.Hubs {
		is := "away"
		switch {
		case h.Reachable && h.Current:
			is = "connected"
		case h.Reachable:
			is = fmt.Sprintf("connected, %d behind", h.Lag)
		}
		at := ""
		if len(h.HubURLs) > 0 {
			at = h.HubURLs[0]
		}
		agents := "-"
		if h.Reachable {
			agents = strconv.Itoa(h.Agents)
		}
		rows = append(rows, []string{h.Name, is, cmp.Or(strings.Join(h.Duties(), ", "), "-"), agents, loadText(h.Load),
			cmp.Or(h.Domain, "-"), hubclient.AgoText(s, h.Joined), at, h.Reason})
	}
	for _, h := range p.Lost {
		does := "-"
		if h.Authority {
			does = "CA key"
		}
		rows = append(rows, []string{h.Name, "lost", does, "-", "-", "-", hubclient.AgoText(s, h.Joined),
			strings.Join(h.HubURLs[:min(1, len(h.HubURLs))], ""), "in the restored backup"})
	}
	s.Style().Table(s.App.Stdout,
		[]string{"HUB", "STATE", "DUTIES", "AGENTS", "LOAD", "DOMAIN", "SINCE", "ADDRESS", "REASON"}, rows)
	s.Printf("\n%s\n", assurance(p))
	if len(p.Lost) > 0 {
		s.Printf("\nA lost hub is no longer part of the fleet, because the fleet was restored from a backup. Never "+
			"start it again.\nTo end the trust in it: fettle hub retire %s\n", p.Lost[0].Name)
	}
}

func loadText(l *fleet.HubLoad) string {
	if l == nil {
		return "-"
	}
	return l.String()
}

// assurance describes the redundancy of the hubs.
func assurance(p document.HubPage) string {
	state := fmt.Sprintf("All data is stored on %d hubs.", p.Copies)
	switch {
	case p.Nats:
		return natsAssurance(p)
	case len(p.Hubs) == 1:
		return "All data is stored on this hub only. If it is unavailable, agents continue with their assignments."
	case !p.Complete && p.Copies == 0:
		state = "The number of copies is unknown, because most hubs are unavailable."
	case !p.Complete:
		state = "Some data does not have all of its copies yet."
	}
	switch {
	case p.ToleratedFailures == 1:
		return state + " One hub can fail without an interruption."
	case p.ToleratedFailures > 1:
		return state + fmt.Sprintf(" %d hubs can fail without an interruption.", p.ToleratedFailures)
	case len(p.Hubs) == 2:
		return state + " If one hub is unavailable, nothing can be changed, and agents continue with their " +
			"assignments. A third hub prevents this."
	}
	return state + " If another hub fails, nothing can be changed, and agents continue with their assignments."
}

// natsAssurance is assurance where everything is kept by others.
func natsAssurance(p document.HubPage) string {
	state := fmt.Sprintf("All data is stored on %d servers of the NATS cluster.", p.Copies)
	switch {
	case p.Copies == 0:
		return "The NATS cluster does not report the state of its data. While it is unavailable, nothing can be " +
			"changed, and agents continue with their assignments."
	case !p.Complete:
		state = "Some data does not have all of its copies on the NATS cluster yet."
	case p.Copies == 1:
		state = "All data is stored on one server of the NATS cluster. If that server is unavailable, nothing can be " +
			"changed, and agents continue with their assignments."
	}
	switch {
	case p.ToleratedFailures == 0:
		return state + " There is no other hub: if this hub is unavailable, agents continue with their assignments."
	case p.ToleratedFailures == 1:
		return state + " One hub can fail without an interruption."
	}
	return state + fmt.Sprintf(" %d hubs can fail without an interruption.", p.ToleratedFailures)
}
