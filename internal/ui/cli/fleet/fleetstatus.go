package fleet

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
	"fettle.dev/fettle/internal/ui/render"
	"fettle.dev/fettle/internal/ui/verdicts"
)

// ShowStatus shows the counts of the fleet and the state of the hub, again after each change if watch
// is set.
func ShowStatus(ctx context.Context, s *cli.Printer, watch bool) error {
	var health document.Health
	var repos document.RepositoryPage
	var alarms document.AlarmPage
	var scopes document.ScopePage
	return hubclient.Showing(ctx, s, hubclient.Watching{On: watch}, func(hub *client.Client) (document.Status, error) {
		st, err := client.Get(ctx, hub, route.Status())
		if err == nil && !s.JSON {
			health, err = wholeFleet(ctx, hub, route.Health(), route.None{})
		}
		if err == nil && !s.JSON {
			repos, err = wholeFleet(ctx, hub, route.Repositories(), route.None{})
		}
		if err == nil && !s.JSON {
			alarms, err = wholeFleet(ctx, hub, route.Alarms(), route.None{})
		}
		if err == nil && !s.JSON {
			scopes, err = wholeFleet(ctx, hub, route.Scopes(), route.ScopeQuery{})
			if errors.Is(err, fleet.ErrNotFound) { // an older hub
				err = nil
			}
		}
		return st, err
	}, func(s *cli.Printer, st document.Status) {
		showFleet(s, st, health, repos, alarms.Alarms, scopes.Scopes)
	})
}

func showFleet(s *cli.Printer, st document.Status, h document.Health, r document.RepositoryPage,
	alarms []document.Alarm, scopes []document.Scope) {
	var standings, states, hub, repos []string
	for _, name := range []fleet.Standing{fleet.Active, fleet.Pending, fleet.Retired, fleet.Revoked} {
		if n := st.Standings[name]; n > 0 {
			standings = append(standings, fmt.Sprintf("%d %s", n, name))
		}
	}
	for _, name := range document.States() {
		if n := st.States[name]; n > 0 {
			states = append(states, fmt.Sprintf("%d %s", n, name))
		}
	}
	for _, c := range h.Checks {
		if c.Error != "" {
			hub = append(hub, c.Name+": "+c.Error)
		}
	}
	if len(hub) == 0 && h.Hub != "" {
		hub = []string{"healthy"}
	}
	for _, p := range r.Repositories {
		at := cli.JoinWords(hubclient.Short(p.Commit), p.Subject, hubclient.Parted("on ", p.Branch))
		if p.Error != "" {
			at += "\n" + p.Error + ", since " + s.Moment(p.Read)
		}
		repos = append(repos, p.Name+" "+at)
	}
	s.Style().Pairs(s.App.Stdout, []render.Pair{
		{Name: "frozen", Value: freezeText(s, st)},
		{Name: "targets", Value: strings.Join(standings, ", ")},
		{Name: "states", Value: strings.Join(states, ", ")},
		{Name: "connected", Value: fmt.Sprintf("%d of %d", st.Connected, st.Targets)},
		{Name: "behind", Value: number(st.Behind)},
		{Name: "errors", Value: number(st.Errors)},
		{Name: "drift", Value: hubclient.Parted("", number(st.Drift))},
		{Name: "pinned", Value: number(st.Pinned)},
		{Name: "suspect", Value: hubclient.Parted("", number(st.Suspect))},
		{Name: "modules", Value: number(st.Modules)},
		{Name: "scopes", Value: scopesText(scopes)},
		{Name: "hub " + h.Hub, Value: strings.Join(hub, "\n")},
		{Name: "follows", Value: strings.Join(repos, "\n")},
		{Name: "alarms", Value: alarmsText(alarms)},
	})
}

// shownScopes is the number of scopes that the status of a fleet names.
const shownScopes = 10

// scopesText returns the number of scopes with each verdict, and the tree of the scopes, the worst first.
func scopesText(all []document.Scope) string {
	counts := map[document.Verdict]int{}
	for _, x := range all {
		counts[x.Verdict]++
	}
	var text []string
	for _, v := range document.Verdicts() {
		if n := counts[v]; n > 0 {
			text = append(text, fmt.Sprintf("%d %s", n, v))
		}
	}
	lines, omitted := verdicts.Lines(verdicts.Trees(all), shownScopes)
	if omitted > 0 {
		lines = append(lines, fmt.Sprintf("%d more: fettle scope list --tree", omitted))
	}
	return strings.Join(append([]string{strings.Join(text, ", ")}, lines...), "\n")
}

// alarmsText returns the number of alarms and the first alarm. Without it, users overlook errors in
// assignments if all targets have their assignment.
func alarmsText(all []document.Alarm) string {
	switch len(all) {
	case 0:
		return ""
	case 1:
		return all[0].Text
	}
	return fmt.Sprintf("%d; the first of fettle alarm list: %s", len(all), all[0].Text)
}
