package view_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/view"
)

// tenants is a random fleet of several organizations, as its records describe it.
type tenants struct {
	*rapid.T
	v       *view.View
	targets []tenantTarget
	seq     uint64
	frozen  []fleet.Organization // organizations with an event
}

type tenantTarget struct {
	fleet.Target
	module string
	events []string // texts of events since the target is in its organization
	early  []string // and from before
	other  []string // of kinds that users of an organization do not see
}

// paths are organizations, some with the same beginning.
func paths() []fleet.Organization {
	return []fleet.Organization{"", "acme", "acme/search", "acme/search/eu", "acme-2", "acme2", "globex", "globex/acme"}
}

const tenantStart = 1_800_000_000

func (w *tenants) append(record any) {
	text, err := json.Marshal(record)
	w.seq++
	if err == nil {
		err = w.v.Append(context.Background(), w.seq, [][]byte{text})
	}
	if err != nil {
		w.Fatal(err)
	}
}

// add adds a target with an assignment, a report and events. Each text of it contains its marker.
func (w *tenants) add(i int) {
	of := rapid.SampledFrom(paths()).Draw(w.T, "organization")
	mark := fmt.Sprintf("mark%d", i)
	t := tenantTarget{Target: fleet.Target{ID: tenantID(i), Name: mark, Labels: map[string]string{"l": mark},
		Standing: fleet.Active, Organization: of}}
	if env := rapid.SampledFrom([]string{"", "prod", "dev"}).Draw(w.T, "label"); env != "" {
		t.Labels["env"] = env
	}
	if rapid.IntRange(0, 4).Draw(w.T, "standing") == 0 {
		t.Standing = rapid.SampledFrom([]fleet.Standing{fleet.Pending, fleet.Retired}).Draw(w.T, "other standing")
	}
	if rapid.Bool().Draw(w.T, "moved") {
		t.Moved = (tenantStart + 100) * 1e9
	}
	t.module = "modules/shared"
	if rapid.Bool().Draw(w.T, "own module") {
		t.module = "modules/" + mark
	}
	ctx := context.Background()
	if err := w.v.PutTarget(ctx, t.Target); err != nil {
		w.Fatal(err)
	}
	m := fleet.Assigned{Module: t.module, Revision: fleet.Revision{Commit: strings.Repeat("c", 40), Subject: t.module},
		Bundle: fleet.Bundle{Digest: "sha256:" + strings.Repeat("b", 64)}}
	root := m
	root.Module = ""
	if err := w.v.PutAssignment(ctx, fleet.Assignment{Format: fleet.AssignmentFormat, Target: t.ID, Name: t.Name, Epoch: 1,
		Generation: 1, Root: root, Modules: []fleet.Assigned{m}}); err != nil {
		w.Fatal(err)
	}
	for n := range rapid.IntRange(1, 4).Draw(w.T, "events") {
		at := int64(tenantStart+50*rapid.IntRange(0, 3).Draw(w.T, "time")) * 1e9
		text := fmt.Sprintf("%s event %d", mark, n)
		kind := rapid.SampledFrom([]fleet.HubEventKind{"", fleet.Pinned, fleet.LockChanged, fleet.Moved}).Draw(w.T, "kind")
		if kind == "" {
			w.append(fleet.Report{Format: fleet.ReportFormat, Target: t.ID, Seq: uint64(n + 1), At: at,
				Event: fleet.Event{Kind: fleet.Failed, Run: 7, Module: t.module, Text: text},
				Status: fleet.Status{Epoch: 1, Generation: 1, Facts: map[string]string{"f": mark}, Modules: []fleet.ModuleStatus{
					{Module: t.module, State: fleet.ModuleFailed, Error: mark, Commit: m.Revision.Commit, Since: at}}}})
		} else {
			w.append(fleet.HubEvent{Format: fleet.HubEventFormat, At: at, Kind: kind, Target: t.ID, Text: text, By: mark})
		}
		switch {
		case kind == fleet.LockChanged || kind == fleet.Moved:
			t.other = append(t.other, text)
		case at < t.Moved:
			t.early = append(t.early, text)
		default:
			t.events = append(t.events, text)
		}
	}
	w.targets = append(w.targets, t)
}

func tenantID(i int) fleet.TargetID {
	return fleet.TargetID(strings.Repeat(string(rune('a'+i)), 25) + "a")
}

// isBelow is the definition of paths.
func isBelow(path, of fleet.Organization) bool {
	parts, own := strings.Split(string(path), "/"), strings.Split(string(of), "/")
	return of == "" || len(own) <= len(parts) && slices.Equal(parts[:len(own)], own)
}

// sees returns the targets within a boundary, by the definition of paths, labels and identities.
func (w *tenants) sees(b fleet.Boundary) (out []tenantTarget) {
	for _, t := range w.targets {
		visible := !b.Limited
		for _, p := range b.Parts {
			labels := 0
			for name, value := range t.Labels {
				if want, ok := p.Labels[name]; ok && want == value {
					labels++
				}
			}
			named := 0
			for _, id := range p.Targets {
				if id == t.ID {
					named++
				}
			}
			visible = visible || isBelow(t.Organization, p.Organization) && labels == len(p.Labels) &&
				(len(p.Targets) == 0 || named > 0)
		}
		if visible && isBelow(t.Organization, b.Organization) {
			out = append(out, t)
		}
	}
	return out
}

// boundary draws a boundary with random grants. Some select nothing.
func (w *tenants) boundary() fleet.Boundary {
	b := fleet.Boundary{Organization: rapid.SampledFrom(paths()).Draw(w.T, "of"), Limited: true}
	for range rapid.IntRange(0, 3).Draw(w.T, "grants") {
		f := fleet.TargetFilter{Organization: rapid.SampledFrom(paths()).Draw(w.T, "of a grant")}
		if env := rapid.SampledFrom([]string{"", "prod", "dev", "never"}).Draw(w.T, "label of a grant"); env != "" {
			f.Labels = map[string]string{"env": env}
			if rapid.IntRange(0, 4).Draw(w.T, "two labels") == 0 {
				f.Labels["l"] = "mark1"
			}
		}
		for range rapid.IntRange(0, 2).Draw(w.T, "named") {
			f.Targets = append(f.Targets, tenantID(rapid.IntRange(0, 8).Draw(w.T, "target of a grant")))
		}
		b.Parts = append(b.Parts, f)
	}
	return b
}

// TestOrganizationsSeeOnlyTheirTargets: for random fleets, each query in the name of an organization, or with random
// grants, returns exactly what belongs to its targets, as computed from the records, and no text of another target.
func TestOrganizationsSeeOnlyTheirTargets(t *testing.T) {
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		v, err := view.Open(filepath.Join(t.TempDir(), fmt.Sprintf("view%d.db", n)), view.Options{})
		if err != nil {
			rt.Fatal(err)
		}
		defer v.Close()
		w := &tenants{T: rt, v: v}
		w.append(fleet.HubEvent{Format: fleet.HubEventFormat, At: tenantStart * 1e9, Kind: fleet.JobChanged,
			Text: "fleet event"})
		for i := range rapid.IntRange(1, 7).Draw(rt, "targets") {
			w.add(i)
		}
		for range rapid.IntRange(0, 3).Draw(rt, "freezes") {
			of := rapid.SampledFrom(paths()[1:]).Draw(rt, "frozen")
			w.append(fleet.HubEvent{Format: fleet.HubEventFormat, At: tenantStart * 1e9, Kind: fleet.TargetFrozen,
				Organization: of, Text: "froze " + string(of)})
			w.frozen = append(w.frozen, of)
		}
		for _, of := range paths() {
			w.check(fleet.Boundary{Organization: of})
		}
		for range 4 {
			w.check(w.boundary())
		}
	})
}

// check compares each query within a boundary with its targets.
func (w *tenants) check(of fleet.Boundary) {
	ctx := fleet.WithBoundary(context.Background(), of)
	now := time.Unix(tenantStart+1000, 0)
	visible := w.sees(of)
	var names, active, modules, events []string
	for _, t := range visible {
		names = append(names, t.Name)
		events = append(events, t.events...)
		if of.All() {
			events = append(append(events, t.early...), t.other...)
		}
		if t.Standing == fleet.Active {
			active, modules = append(active, t.Name), append(modules, t.module)
		}
	}
	if of.All() {
		events = append(events, "fleet event")
	}
	for _, o := range w.frozen {
		if of.All() || !of.Limited && of.Organization != "" && (isBelow(o, of.Organization) || isBelow(of.Organization, o)) {
			events = append(events, "froze "+string(o))
		}
	}
	slices.Sort(modules)
	modules = slices.Compact(modules)
	page, err := w.v.Targets(ctx, view.TargetQuery{All: true, By: "module", Now: now})
	w.same(of, "targets", err, namesOf(page), names)
	if page.Total != len(visible) {
		w.Errorf("%+v: %d targets, want %d", of, page.Total, len(visible))
	}
	page, err = w.v.Targets(ctx, view.TargetQuery{All: true, Limit: 1, Now: now})
	if more := page.Cursor != ""; err != nil || more != (len(visible) > 1) || page.Total != len(visible) {
		w.Errorf("%+v: the first page has the total %d, and more %v, of %d", of, page.Total, more, len(visible))
	}
	status, err := w.v.Status(ctx, now)
	if err != nil || status.Targets != len(active) || status.Modules != len(modules) || !of.All() && status.Position != 0 {
		w.Errorf("%+v: the status is %+v, %v; want %d targets and %d modules", of, status, err, len(active), len(modules))
	}
	all, err := w.v.Modules(ctx, now)
	var got []string
	for _, m := range all.Modules {
		got = append(got, m.Module)
	}
	w.same(of, "modules", err, got, modules)
	parts, err := view.PartsInUse(ctx, w.v, 9)
	got = nil
	for _, p := range parts {
		if p.Module != "" {
			got = append(got, p.Module)
		}
		w.clean(of, fmt.Sprint(p), visible)
	}
	w.same(of, "parts", err, got, modules)
	list, err := w.v.Events(ctx, view.EventQuery{})
	w.same(of, "events", err, textsOf(list.Events), events)
	runs, more, err := view.Runs(ctx, w.v, view.RunQuery{Run: 7, Limit: 1})
	w.clean(of, fmt.Sprintf("%+v", runs), visible)
	if ended := w.ended(of, visible); err != nil || len(runs)+more != ended {
		w.Errorf("%+v: %d runs and %d more, want %d", of, len(runs), more, ended)
	}
	for _, d := range []any{page, status, all, list} {
		w.clean(of, fmt.Sprintf("%+v", d), visible)
	}
	w.single(ctx, of, visible, now)
}

// ended counts the reported ends of runs that an organization sees.
func (w *tenants) ended(of fleet.Boundary, visible []tenantTarget) (n int) {
	page, err := w.v.Events(context.Background(), view.EventQuery{Kinds: []string{string(fleet.Failed)}})
	if err != nil {
		w.Fatal(err)
	}
	for _, e := range page.Events {
		for _, t := range visible {
			if e.Target == t.ID && (of.All() || slices.Contains(t.events, e.Text)) {
				n++
			}
		}
	}
	return n
}

// single asks for each target and module. The answers about others are those about unused names.
func (w *tenants) single(ctx context.Context, of fleet.Boundary, visible []tenantTarget, now time.Time) {
	isVisible := func(t tenantTarget) bool {
		return slices.ContainsFunc(visible, func(v tenantTarget) bool { return v.ID == t.ID })
	}
	for _, t := range w.targets {
		for _, name := range []string{t.Name, string(t.ID)} {
			d, err := w.v.Target(ctx, name, now)
			_, eerr := w.v.Events(ctx, view.EventQuery{Target: name})
			chosen, serr := w.v.Targets(ctx, view.TargetQuery{Select: []string{name}, All: true, Now: now})
			if isVisible(t) {
				if err != nil || d.Target.Name != t.Name || eerr != nil {
					w.Errorf("%+v and %s: %+v, %v, %v", of, name, d, err, eerr)
				}
				continue
			}
			unused := "mark9" // as similar to other names
			if name != t.Name {
				unused = strings.Repeat("z", len(name)-1) + "a"
			}
			_, want := w.v.Target(ctx, unused, now)
			_, ewant := w.v.Events(ctx, view.EventQuery{Target: unused})
			uchosen, swant := w.v.Targets(ctx, view.TargetQuery{Select: []string{unused}, All: true, Now: now})
			for what, c := range map[string][2]error{"target": {err, want}, "events": {eerr, ewant}, "selection": {serr,
				swant}} {
				if got := strings.ReplaceAll(fmt.Sprint(c[0]), name, unused); got != fmt.Sprint(c[1]) {
					w.Errorf("%+v, %s of %s: %s, and for an unused name: %v", of, what, name, got, c[1])
				}
			}
			if !errors.Is(err, fleet.ErrNotFound) || chosen.Total != 0 || uchosen.Total != 0 {
				w.Errorf("%+v finds %s: %v, %+v", of, name, err, chosen)
			}
		}
		m, err := w.v.Module(ctx, view.ModuleQuery{Module: t.module, Now: now})
		uses := slices.ContainsFunc(visible, func(v tenantTarget) bool {
			return v.module == t.module && v.Standing == fleet.Active
		})
		if (err == nil) != uses {
			w.Errorf("%+v and %s: %v", of, t.module, err)
		}
		w.clean(of, fmt.Sprintf("%+v", m), visible)
	}
}

// clean fails if a text contains the marker of a target that is not visible.
func (w *tenants) clean(of fleet.Boundary, text string, visible []tenantTarget) {
	for _, t := range w.targets {
		sees := slices.ContainsFunc(visible, func(v tenantTarget) bool { return v.ID == t.ID })
		if !sees && strings.Contains(text, t.Name) {
			w.Errorf("%+v sees %s of %q: %s", of, t.Name, t.Organization, text)
		}
	}
}

func (w *tenants) same(of fleet.Boundary, what string, err error, got, want []string) {
	got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	if err != nil || !slices.Equal(got, want) {
		w.Errorf("%+v has the %s %q, %v, want %q", of, what, got, err, want)
	}
}

func textsOf(all []document.Event) (out []string) {
	for _, e := range all {
		out = append(out, e.Text)
	}
	return out
}
