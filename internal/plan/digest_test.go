package plan_test

import (
	"testing"

	"fettle.dev/fettle/internal/plan"
)

func somePlan() *plan.Plan {
	return &plan.Plan{Format: 1, Base: 3, Changes: []plan.Change{
		{Action: plan.Update, Addr: "file:/a", Step: line("COPY content0 /a")},
		{Action: plan.Run, Addr: "exec:x", Irreversible: "it has no undo"},
		{Action: plan.Forget, Addr: "exec:y", Irreversible: "it has no undo"},
		{Action: plan.Drift, Addr: "file:/b"},
	}}
}

// TestPlansOverBinaryContent: what is only shown takes no part in a plan's
// digest, and everything else does.
func TestPlansOverBinaryContent(t *testing.T) {
	want := somePlan().Digest()
	for name, change := range map[string]func(*plan.Plan){
		"the difference as text": func(p *plan.Plan) { p.Changes[0].Diff = "+a" },
		"that it is binary":      func(p *plan.Plan) { p.Changes[0].Binary = true },
	} {
		p := somePlan()
		if change(p); p.Digest() != want {
			t.Errorf("%s takes part in the digest", name)
		}
	}
	for name, change := range map[string]func(*plan.Plan){
		"a step":   func(p *plan.Plan) { p.Changes[0].Step = line("COPY content1 /a") },
		"the base": func(p *plan.Plan) { p.Base = 4 },
		"an end":   func(p *plan.Plan) { p.Changes = p.Changes[:3] },
	} {
		p := somePlan()
		if change(p); p.Digest() == want {
			t.Errorf("%s takes no part in the digest", name)
		}
	}
}

// TestWhatAPlanSays: what it counts, and what of it cannot be undone.
func TestWhatAPlanSays(t *testing.T) {
	p := somePlan()
	if n := p.Count(); len(n) != 4 || n[plan.Run] != 1 || n[plan.Create] != 0 {
		t.Errorf("counted %v", n)
	}
	if i := p.Irreversible(); len(i) != 1 || i[0].Addr != "exec:x" {
		t.Errorf("irreversible: %v", i)
	}
	if p.Empty() {
		t.Error("a plan with an update passes for empty")
	}
	p.Changes = p.Changes[2:]
	if !p.Empty() {
		t.Error("a plan that only reports does not pass for empty")
	}
}
