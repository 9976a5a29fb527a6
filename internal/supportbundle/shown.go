package supportbundle

import (
	"slices"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/plan"
)

type shownDoc struct {
	Info    run      `json:"info"`
	Changes []change `json:"changes"`
	Parts   []part   `json:"parts"`
}

type change struct {
	Action       plan.Action         `json:"action"`
	Addr         string              `json:"addr"`
	Source       string              `json:"source,omitempty"`
	Differences  []map[string]string `json:"differences,omitempty"`
	Irreversible bool                `json:"irreversible,omitempty"`
	Drifted      bool                `json:"drifted,omitempty"`
	Cause        []string            `json:"cause,omitempty"`
}

type part struct {
	Addr    string      `json:"addr"`
	Action  plan.Action `json:"action"`
	Outcome string      `json:"outcome"`
}

func shownOf(sh executor.Shown) shownDoc {
	doc := shownDoc{Info: runOf(sh.Info), Changes: []change{}, Parts: []part{}}
	if sh.Plan != nil {
		for _, c := range sh.Plan.Changes {
			doc.Changes = append(doc.Changes, changeOf(c))
		}
	}
	for _, inv := range sh.Invocations {
		for _, p := range inv.Parts {
			doc.Parts = append(doc.Parts, part{address(p.Addr), p.Action, p.Outcome})
		}
	}
	return doc
}

func changeOf(c plan.Change) change {
	out := change{Action: c.Action, Addr: address(c.Addr), Source: c.Source,
		Irreversible: c.Irreversible != "", Drifted: c.Drifted}
	for _, d := range c.Differences {
		told := map[string]string{"field": fieldName(d.Field)}
		if slices.Contains(toldFields(c.Addr.Kind()), d.Field) {
			told["old"], told["new"] = d.Old, d.New
		}
		out.Differences = append(out.Differences, told)
	}
	for _, a := range c.Cause {
		out.Cause = append(out.Cause, address(a))
	}
	return out
}
