package targets

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/hub/limits"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// How hubs request full reports from targets whose state in the log is incomplete. A hub checks
// every lackEvery and sends lackAtOnce requests per second, so that a fleet whose log was truncated
// does not answer all at once. The hub with the connection to the target asks after lackHere
// checks, and any hub after lackThere. Each repeats its request after lackAgain further checks.
const (
	lackEvery  = 30 * time.Second
	lackAtOnce = 20
	lackHere   = 2
	lackThere  = 6
	lackAgain  = 20
)

// reportGaps counts the checks for which the state of each target has been incomplete.
type reportGaps struct{ rounds map[fleet.TargetID]int }

// next counts a check and returns the targets to ask, in the order of all and at most most. The
// remaining targets are returned by the next call.
func (l *reportGaps) next(all []fleet.TargetID, here func(fleet.TargetID) bool, most int) []fleet.TargetID {
	looks := make(map[fleet.TargetID]int, len(all))
	var ask []fleet.TargetID
	for _, id := range all {
		n := l.rounds[id] + 1
		first := lackThere
		if here(id) {
			first = lackHere
		}
		if n >= first {
			if len(ask) >= most {
				n = first - 1
			} else {
				ask = append(ask, id)
				n = first - lackAgain
			}
		}
		looks[id] = n
	}
	l.rounds = looks
	return ask
}

// FillGaps requests full reports of targets with an incomplete state until ctx ends.
func (g *Registry) FillGaps(ctx context.Context) error {
	var l reportGaps
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(lackEvery):
		}
		at, err := g.View.LogPosition(ctx)
		if err == nil && at < g.LogEnd() {
			continue // the read model does not have the whole log yet
		}
		all, err := g.View.ReportGaps(ctx)
		if err != nil {
			if ctx.Err() == nil {
				g.Warn(fmt.Sprintf("cannot list the targets whose reports are incomplete: %v", err))
			}
			continue
		}
		most := lackAtOnce * int(lackEvery/time.Second)
		for few := range slices.Chunk(l.next(all, g.Exchange.IsConnected, most), lackAtOnce) {
			for _, id := range few {
				go g.requestFullReport(ctx, id)
			}
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(time.Second):
			}
		}
	}
}

// requestFullReport makes a target report its whole state. An agent that does not support this
// request sends a partial report; the hub of its connection refuses that once, and a full report
// follows.
func (g *Registry) requestFullReport(ctx context.Context, id fleet.TargetID) {
	g.told.forget(id)
	job := fleet.Job{ID: records.NewID(), What: fleet.JobReport, Arg: fleet.FullReport, By: "hub " + g.Hub,
		At: g.Now().Unix()}
	body, err := json.Marshal(job)
	if err != nil {
		return
	}
	ctx, stop := context.WithTimeout(ctx, limits.AgentTimeout)
	defer stop()
	_, _ = g.Exchange.Ask(ctx, id, fleet.MessageJob, body) // after a failure the next check asks again
}
