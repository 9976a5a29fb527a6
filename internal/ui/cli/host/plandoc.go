package host

import (
	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/ui/cli"
)

// PlanDoc is a plan as a document. Images stay out of it: they can hold
// password hashes.
type PlanDoc struct {
	Format    string         `json:"format"` // fettle.plan/1, fettle.drift/1
	Operation string         `json:"operation"`
	Target    string         `json:"target,omitempty"`
	Base      int            `json:"base"`
	To        int            `json:"to"`
	Revision  repo.Revision  `json:"revision"`
	List      string         `json:"list"`
	Digest    string         `json:"digest"`
	Empty     bool           `json:"empty"`
	Unchanged int            `json:"unchanged"`
	Count     map[string]int `json:"count"`
	Changes   []changeDoc    `json:"changes"`
	Stage     int            `json:"stage,omitempty"`
	Stages    int            `json:"stages,omitempty"`
	Later     []plan.Later   `json:"later,omitempty"`
	Notes     []string       `json:"notes,omitempty"` // lost or damaged parts of the state directory that were rebuilt
	Armed     *arming        `json:"armed,omitempty"` // how apply would be armed
}

type changeDoc struct {
	Action       string             `json:"action"`
	Addr         addr.Addr          `json:"addr"`
	Why          string             `json:"why"`
	Step         string             `json:"step,omitempty"`
	Applied      string             `json:"applied,omitempty"`
	Source       string             `json:"source,omitempty"`
	State        string             `json:"state,omitempty"` // the state that writes the address
	Differences  []image.Difference `json:"differences,omitempty"`
	Diff         string             `json:"diff,omitempty"`
	Binary       bool               `json:"binary,omitempty"`
	Irreversible string             `json:"irreversible,omitempty"`
	Note         string             `json:"note,omitempty"`
	Cause        []addr.Addr        `json:"cause,omitempty"`
	Drifted      bool               `json:"drifted,omitempty"`
	By           addr.Addr          `json:"by,omitempty"`
}

// PlanJSON converts a plan to the JSON document of a format: fettle.plan/1 or fettle.drift/1.
func PlanJSON(format string, p *plan.Plan) *PlanDoc {
	if p == nil {
		return nil
	}
	doc := &PlanDoc{
		Format: format, Operation: string(p.Operation), Target: p.Target, Base: p.Base, To: p.To,
		Revision: p.Revision, List: p.List, Digest: p.Digest(), Empty: p.Empty(), Unchanged: p.Unchanged,
		Count: map[string]int{}, Changes: []changeDoc{}, Stage: p.Stage, Stages: p.Stages, Later: p.Later, Notes: p.Notes,
	}
	for a, n := range p.Count() {
		doc.Count[string(a)] = n
	}
	for _, c := range p.Changes {
		doc.Changes = append(doc.Changes, changeDoc{
			Action: string(c.Shown()), Addr: c.Addr, Why: c.Why, Step: c.Step.String(), Applied: c.Applied.String(),
			Source: c.Source, State: c.State, Differences: c.Differences, Diff: c.Diff, Binary: c.Binary,
			Irreversible: c.Irreversible, Note: c.Note, Cause: c.Cause, Drifted: c.Drifted, By: c.PurgedBy,
		})
	}
	return doc
}

// changesIn is errChanges for a plan that would change something, or that
// reports drift.
func changesIn(p *plan.Plan) error {
	if !p.Empty() || p.Count()[plan.Drift] > 0 || len(p.Later) > 0 {
		return cli.ErrChanges
	}
	return nil
}
