package plan_test

import (
	"reflect"
	"testing"

	"fettle.dev/fettle/internal/image"
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

// TestDigestOfImages: an operator approves a digest, and the host computes it again, perhaps with another
// version. So the digest of a plan with images of every type does not change.
func TestDigestOfImages(t *testing.T) {
	p, out := somePlan(), "a\xe9"
	used := map[reflect.Type]bool{}
	for _, i := range []image.Image{
		image.Of(&image.File{Type: image.Symlink, Target: out, Xattrs: map[string][]byte{out: {1}}}),
		image.Of(&image.Region{Present: true, Text: "<a>\n", Others: []image.Place{{Text: out, Line: 2}}}),
		image.Of(&image.User{Present: true, Home: out, HomeDir: &image.File{Type: image.Directory, Tree: "t"}}),
		image.Of(&image.Group{Present: true, Members: []string{out}}),
		image.Of(&image.Member{Present: true}),
		image.Of(&image.Package{Version: "1", AlsoChanged: map[string]string{"b": ""}}),
		image.Of(&image.Unit{Loaded: true, State: "enabled"}),
		image.Of(&image.Sysctl{Present: true, Value: "1"}),
		image.Of(&image.Exec{Known: true, Output: &out}),
		{},
	} {
		p.Changes = append(p.Changes, plan.Change{Action: plan.Update, Addr: "file:/i", From: &i, To: &i, Earlier: &i})
		used[reflect.TypeOf(i.Variant)] = true
	}
	for _, v := range image.Types() {
		if !used[reflect.TypeOf(v)] {
			t.Errorf("the plan has no image of the type %T: add one at the end, and its digest", v)
		}
	}
	const want = "sha256:0d2c6d6c9c5eaf00b03efd403c23250f3a1a3d01a340a5b9dd1b68710c5ebc09"
	if got := p.Digest(); got != want {
		t.Errorf("the digest is %s, want %s", got, want)
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
