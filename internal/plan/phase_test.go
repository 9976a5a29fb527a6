package plan_test

import (
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/step"
)

func copyStep(digit, rest string) string {
	return "COPY sha256:" + strings.Repeat(digit, 64) + " /f" + rest
}

func content(digit string) image.Image {
	return image.Of(&image.File{Type: image.Regular, Mode: 0o644, Digest: "sha256:" + strings.Repeat(digit, 64)})
}

// TestPassedPhases: a host is past a phase if each address that a later phase writes again was applied by it, or has its
// state already.
func TestPassedPhases(t *testing.T) {
	for what, c := range map[string]struct {
		applied  string
		observed image.Image
		later    bool
		more     bool
		passed   bool
	}{
		"nothing comes later":       {"", content("c"), false, true, true},
		"not begun":                 {"", image.Of(&image.File{Type: image.Absent}), true, true, false},
		"applied in this phase":     {copyStep("a", ""), content("a"), true, true, false},
		"applied in a later one":    {copyStep("b", " phase=2"), content("a"), true, true, true},
		"found as later":            {copyStep("a", ""), content("b"), true, true, true},
		"found as later, the last":  {copyStep("a", ""), content("b"), true, false, false},
		"found as something else":   {copyStep("a", ""), content("c"), true, true, false},
		"unknown, what is observed": {copyStep("a", ""), image.Image{}, true, true, false},
	} {
		in := plan.Input{Operation: journal.OpApply, Desired: list(t, copyStep("a", "")+"\n"), Rules: rules{},
			Observed: map[addr.Addr]image.Image{"file:/f": c.observed}, MorePhases: c.more}
		if c.applied != "" {
			in.Applied.Entries = entries(t, c.applied+" | adopted")
		}
		if c.later {
			in.Later = map[addr.Addr][]step.Step{"file:/f": list(t, copyStep("b", " phase=2")+"\n")}
		}
		if got := plan.StageCompleted(in); got != c.passed {
			t.Errorf("%s: %t", what, got)
		}
	}
}

// TestAfterAPlan: the next plan starts from what this one leaves: images, entries in their order, and actions that are still
// pending. What only is told changes nothing.
func TestAfterAPlan(t *testing.T) {
	to := content("b")
	in := plan.Input{Observed: map[addr.Addr]image.Image{"file:/f": content("a"), "file:/g": content("a")}}
	in.Applied.Entries = []journal.Entry{{Addr: "file:/x", Step: line("RM /x")}, {Addr: "file:/f", Step: line("RM /f")}}
	in.Applied.Pending = []journal.PendingAct{{Addr: "act:a"}, {Addr: "act:b"}}
	from := content("a")
	p := &plan.Plan{Changes: []plan.Change{
		{Action: plan.Drift, Addr: "file:/g", Step: line("RM /g"), To: &to},
		{Action: plan.Forget, Addr: "file:/h", Applied: line("RM /h")},
		{Action: plan.Create, Addr: "file:/n", Step: line("RM /n"), To: &to, From: &from, Source: "fettle.hcl:7"},
		{Action: plan.Update, Addr: "file:/f", Step: line("RM /f"), To: &to},
		{Action: plan.Adopt, Addr: "file:/o", Step: line("RM /o")},
		{Action: plan.Run, Addr: "act:a", Step: line("ACT run a true on=file:/f")},
	}}
	next := in.After(p)
	if !next.Observed["file:/f"].Same(to) || !next.Observed["file:/n"].Same(to) ||
		!next.Observed["file:/g"].Same(content("a")) || !in.Observed["file:/f"].Same(content("a")) {
		t.Errorf("observed: %+v", next.Observed)
	}
	var order []addr.Addr
	for _, e := range next.Applied.Entries {
		order = append(order, e.Addr)
	}
	if !slices.Equal(order, []addr.Addr{"file:/x", "file:/f", "file:/n", "file:/o"}) {
		t.Errorf("entries: %v", order)
	}
	if e := next.Applied.Entries[2]; e.Src != "fettle.hcl:7" || e.Origin == nil || !e.Origin.Same(from) {
		t.Errorf("%+v", e)
	}
	if len(next.Applied.Pending) != 1 || next.Applied.Pending[0].Addr != "act:b" {
		t.Errorf("pending: %+v", next.Applied.Pending)
	}
}

// TestSummaryOfAPlan: whether a plan changes anything, whether another one follows, and what cannot be undone.
func TestSummaryOfAPlan(t *testing.T) {
	every := map[plan.Action]bool{
		plan.Create: true, plan.Update: true, plan.Repair: true, plan.Remove: true, plan.Purge: true, plan.Restore: true,
		plan.Run: true, plan.Reboot: true,
		plan.Verify: false, plan.Wait: false, plan.Adopt: false, plan.Forget: false, plan.Blocked: false, plan.Drift: false,
		"": false,
	}
	for action, changes := range every {
		p := &plan.Plan{Changes: []plan.Change{{Action: action, Addr: "file:/f", Irreversible: "why"}}}
		if action.Mutates() != changes || p.Empty() == changes || (len(p.Irreversible()) == 1) != changes ||
			p.Count()[p.Changes[0].Shown()] != 1 {
			t.Errorf("%q: %t, empty %t", action, action.Mutates(), p.Empty())
		}
		if p.Changes[0].Irreversible = ""; len(p.Irreversible()) > 0 {
			t.Errorf("%q cannot be undone", action)
		}
	}
	for what, c := range map[string]struct {
		p    plan.Plan
		more bool
	}{
		"one stage":       {plan.Plan{}, false},
		"the last stage":  {plan.Plan{Stage: 2, Stages: 2}, false},
		"the first stage": {plan.Plan{Stage: 1, Stages: 2}, true},
		"values to come":  {plan.Plan{Later: []plan.Later{{Why: "x"}}}, true},
	} {
		if c.p.More() != c.more {
			t.Errorf("%s: %t", what, c.p.More())
		}
	}
}

// TestMetadataAsItWas: META restores owner, group, mode, attributes and ACL; content, and capabilities, stay. A path of
// another type is left as it is.
func TestMetadataAsItWas(t *testing.T) {
	const acl, capability = "system.posix_acl_access", "security.capability"
	then := image.Of(&image.File{Type: image.Regular, UID: 1, GID: 2, Mode: 0o600, Attrs: 16,
		Digest: "sha256:old", Xattrs: map[string][]byte{acl: []byte("then")}})
	now := image.Of(&image.File{Type: image.Regular, UID: 3, GID: 4, Mode: 0o644, Digest: "sha256:new",
		Xattrs: map[string][]byte{acl: []byte("now"), capability: []byte("c")}})
	got := plan.WithEarlierMetadata(now, then).File()
	if got.UID != 1 || got.GID != 2 || got.Mode != 0o600 || got.Attrs != 16 || got.Digest != "sha256:new" ||
		string(got.Xattrs[acl]) != "then" || string(got.Xattrs[capability]) != "c" {
		t.Errorf("%+v", got)
	}
	if string(now.File().Xattrs[acl]) != "now" {
		t.Error("what is observed has changed")
	}
	then.File().Xattrs, now.File().Xattrs = map[string][]byte{acl: []byte("then")}, nil
	if got := plan.WithEarlierMetadata(now, then).File(); string(got.Xattrs[acl]) != "then" {
		t.Errorf("%+v", got)
	}
	then.File().Xattrs, now.File().Xattrs = nil, map[string][]byte{acl: []byte("now")}
	if got := plan.WithEarlierMetadata(now, then).File(); len(got.Xattrs) != 0 {
		t.Errorf("%+v", got)
	}
	for what, other := range map[string]image.Image{"a directory": image.Of(&image.File{Type: image.Directory}),
		"nothing": {}} {
		if got := plan.WithEarlierMetadata(now, other); got.File() != now.File() {
			t.Errorf("%s: %+v", what, got.File())
		}
	}
	if got := plan.WithEarlierMetadata(image.Image{}, then); got.File() != nil {
		t.Errorf("%+v", got)
	}
}
