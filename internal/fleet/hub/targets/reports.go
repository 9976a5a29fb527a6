package targets

import (
	"context"
	"errors"
	"fmt"

	"fettle.dev/fettle/internal/fleet"
)

// OnReport stores a report, which is durable when OnReport returns nil. A partial report, with only
// some modules, is accepted only if this hub acknowledged the previous report: then the log has
// that one, and readers of the log have the rest of the state.
func (g *Registry) OnReport(ctx context.Context, from fleet.TargetID, body []byte) ([]byte, error) {
	body, err := g.decompressor.Decompress(body, fleet.MaxReport)
	if err != nil {
		return nil, err
	}
	r, err := fleet.ParseReport(body)
	if err != nil {
		return nil, err
	}
	if r.Target != from {
		return nil, fmt.Errorf("%w: a report of another target", fleet.ErrDenied)
	}
	if _, err := g.Active(ctx, from); err != nil {
		return nil, err
	}
	if r.Since > 0 && g.told.of(from) != r.Since {
		return nil, fmt.Errorf("cannot accept only the changes since report %d: send a full report", r.Since)
	}
	g.View.RecordContact(from, g.Now())
	if err := g.mayReport(ctx, from, len(body)); err != nil {
		return nil, err
	}
	began := g.Now()
	if _, err := g.Events.Log.Append(ctx, [][]byte{body}); err != nil {
		return nil, err
	}
	g.told.acknowledge(from, r.Seq)
	g.Metrics.Reports(1)
	g.Metrics.Run(r.Event)
	g.Metrics.Committed(g.Now().Sub(began))
	return nil, nil
}

func reportCost(size int) int { return 1 + size>>10 }

// mayReport refuses a report of a target that exceeds its limit. Its agent keeps the report and
// sends it again later.
func (g *Registry) mayReport(ctx context.Context, from fleet.TargetID, size int) error {
	ok, tell := g.reportLimits.TakeMany(from, g.Now(), reportCost(size))
	if ok {
		return nil
	}
	if tell {
		g.Events.Note(ctx, fleet.HubEvent{Kind: fleet.RequestReceived, Target: from, Text: "reports again and again",
			Error: "the hub limits its reports. If its state does not really change all the time, check whether the host is compromised"})
	}
	return errors.New("cannot accept more reports of this target now: the rate is limited. Send the report again later")
}
