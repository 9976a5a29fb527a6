package web

import (
	"context"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/wire"
)

// overviewData is the data of the page with the state of a host.
type overviewData struct {
	hostData
	Status executor.Status
	Last   *run // nil means that nothing was applied
	Holds  []refusal
	Kept   *wire.Kept // the assignment of an agent, or nil
}

// overviewPage shows the state of the host of a site without a hub.
func overviewPage(v *visit) (*page, error) {
	if v.PathValue("target") == "" {
		v.SetPathValue("target", v.host.Name)
	}
	host, err := hostOf(v)
	if err != nil {
		return nil, err
	}
	d := overviewData{hostData: host}
	q := question{target: d.Name, command: d.command("status"), within: answerWithin}
	err = ask(v, q, func(ctx context.Context, x *wire.Client) error {
		s, err := x.Status(ctx)
		if err == nil {
			d.fill(s, x)
		}
		return err
	})
	if err := d.keepProblem(err); err != nil {
		return nil, err
	}
	return &page{Title: d.Name, Tab: "/", Template: "overview", Data: d, Command: q.command}, nil
}

// fill sets the data of the answer.
func (d *overviewData) fill(s executor.Status, x *wire.Client) {
	d.Status, d.Kept = s, x.Hello().Kept
	if s.Last != nil {
		d.Last = &run{*s.Last}
	}
	d.Holds = d.holds(s.Condition)
}
