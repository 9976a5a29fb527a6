package supportbundle

import (
	"fmt"
	"regexp"
	"slices"
	"sync"

	"fettle.dev/fettle/internal/addr"
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

// toldFields are the fields whose values are never confidential.
func toldFields(k addr.Kind) []string {
	switch k {
	case addr.KindFile, addr.KindMeta:
		return []string{"mode", "owner", "group", "type"}
	case addr.KindPkg:
		return []string{"version", "state", "held", "ensure"}
	case addr.KindUnit:
		return []string{"enabled", "active", "masked"}
	}
	return nil
}

var (
	plainField = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z_ ]{1,32}$`) })
	plainName  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9._@/:+-]{1,80}$`) })
)

func fieldName(name string) string {
	if plainField().MatchString(name) {
		return name
	}
	return "another"
}

// address returns the text of an address without secrets. The region of an edit can be the line itself, and
// the name of a command can be the command.
func address(a addr.Addr) string {
	switch a.Kind() {
	case addr.KindEdit:
		return string(addr.KindEdit) + ":" + a.Path() + "#…"
	case addr.KindExec, addr.KindAct, addr.KindWait, addr.KindCheck:
		if !plainName().MatchString(a.Name()) {
			return fmt.Sprintf("%s:(%d characters)", a.Kind(), len(a.Name()))
		}
	}
	return a.String()
}
