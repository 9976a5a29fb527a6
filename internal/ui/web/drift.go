package web

import (
	"context"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/route"
)

// driftData is the data of the page with the drift of a target.
type driftData struct {
	hostData
	// Seen is the time of the last report of drift that the hub has, in ns since 1970; 0 means that it has none.
	Seen int64
	// Compared means that the page compared the host with its applied state.
	Compared bool
	Took     string
	Base     int // the run of the applied state; 0 means that nothing is applied
	InSync   int // number of addresses
	Contents bool
	Repair   string // the command
	Notes    []string
	changeList
}

// driftPage shows the differences between the host and its applied state. The comparison can take seconds, so it needs
// a click.
func driftPage(v *visit) (*page, error) {
	host, err := hostOf(v)
	if err != nil {
		return nil, err
	}
	d := driftData{hostData: host, Contents: v.May(access.Operate)}
	d.Repair = commandOf("fettle", "job", "apply", "-t", d.Name)
	if v.host != nil {
		d.Repair = d.command("apply")
	}
	command := d.command("drift")
	if d.Seen, err = lastDrift(v, d.Target.ID); err != nil {
		return nil, err
	}
	if _, d.Compared = asked(v, "compare"); d.Compared {
		err = d.compare(v, question{target: d.Name, command: command, changes: d.Contents, within: planWithin})
	}
	if err := d.keepProblem(err); err != nil {
		return nil, err
	}
	p := &page{Title: "Drift of " + d.Name, Tab: "/", Template: "drift", Data: d, Command: command}
	if v.host == nil {
		p.Address = address(route.Drift(), route.TargetDrift{Target: d.Name, Diff: d.Contents})
	}
	return p, nil
}

// compare compares the host with its applied state.
func (d *driftData) compare(v *visit, q question) error {
	began := time.Now()
	return ask(v, q, func(ctx context.Context, x *wire.Client) error {
		p, err := x.Drift(ctx, executor.DriftOptions{Diffs: q.changes})
		if err == nil && p != nil {
			d.changeList, d.Base, d.InSync, d.Notes = listChanges(p, q.command), p.Base, p.Unchanged, p.Notes
			d.Took = tookText(time.Since(began))
		}
		return err
	})
}

// lastDrift returns the time of the last event about drift of a target, or 0.
func lastDrift(v *visit, id fleet.TargetID) (int64, error) {
	all, err := get(v, route.Events(), route.EventQuery{Target: string(id), Kinds: []string{string(fleet.Drifted)},
		Limit: 1})
	if err != nil || len(all.Events) == 0 {
		return 0, err
	}
	return all.Events[len(all.Events)-1].At, nil
}
