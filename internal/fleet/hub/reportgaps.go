package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// How targets are asked for a whole report of which the log has not all. It is looked for
// every lackEvery, and asked are lackAtOnce a second, so that a fleet whose log was cut off
// does not answer all at once. One that was lacking for lackHere looks is asked by the hub
// that it is connected to, for lackThere by any; each again after lackAgain of them.
const (
	lackEvery  = 30 * time.Second
	lackAtOnce = 20
	lackHere   = 2
	lackThere  = 6
	lackAgain  = 20
)

// reportGaps counts for how many looks each target has been without all that it is.
type reportGaps struct{ rounds map[fleet.TargetID]int }

// next counts a look, and gives those to ask, in order and no more than most. Those that are left out keep
// their turn.
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

// fillIn asks for whole reports of those of whom the log has not all.
func (h *Hub) fillIn(ctx context.Context) error {
	var l reportGaps
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(lackEvery):
		}
		at, err := h.view.Position(ctx)
		if err == nil && at < h.logEnd.Load() {
			continue // it is being read still
		}
		all, err := h.view.ReportGaps(ctx)
		if err != nil {
			if ctx.Err() == nil {
				h.warn(fmt.Sprintf("cannot tell of whom the log has not all: %v", err))
			}
			continue
		}
		most := lackAtOnce * int(lackEvery/time.Second)
		for few := range slices.Chunk(l.next(all, h.exchange.Here, most), lackAtOnce) {
			for _, id := range few {
				go h.requestFullReport(ctx, id)
			}
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(time.Second):
			}
		}
	}
}

// requestFullReport has a target report all that it is. One that knows no such request sends a part,
// which the hub that it is connected to refuses once.
func (h *Hub) requestFullReport(ctx context.Context, id fleet.TargetID) {
	h.told.forget(id)
	job := fleet.Job{ID: newID(), What: fleet.JobReport, Arg: fleet.FullReport, By: "hub " + h.set.Name, At: h.now().Unix()}
	body, err := json.Marshal(job)
	if err != nil {
		return
	}
	ctx, stop := context.WithTimeout(ctx, askFor)
	defer stop()
	_, _ = h.exchange.Ask(ctx, id, fleet.WordJob, body) // it comes again
}
