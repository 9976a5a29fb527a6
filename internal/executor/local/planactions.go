package local

import (
	"slices"

	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
)

// actions returns the action of each change in the plan of a run. It is empty if the run changed no path and
// was not a rollback.
func (x *planner) actions(recs []journal.Record) (planActions, error) {
	if len(recs) == 0 || recs[0].Header == nil ||
		recs[0].Header.Operation != journal.OpRollback && !slices.ContainsFunc(recs, tellsPath) {
		return nil, nil
	}
	text, err := x.store.ReadObject(recs[0].Header.Plan)
	if err != nil {
		return nil, err
	}
	var p struct {
		Changes []struct {
			Action plan.Action `json:"action"`
		} `json:"changes"`
	}
	if err := journal.Unmarshal(text, &p); err != nil {
		return nil, err
	}
	out := make(planActions, len(p.Changes))
	for i, c := range p.Changes {
		out[i] = c.Action
	}
	return out, nil
}

// planActions are the actions of a plan, by the index of the change.
type planActions []plan.Action

// of returns the action of a change, or "" if it is unknown.
func (a planActions) of(change int) plan.Action {
	if change < 0 || change >= len(a) {
		return ""
	}
	return a[change]
}

func tellsPath(rec journal.Record) bool {
	return rec.Kind == journal.Move || rec.Kind == journal.Intent
}
