package view_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/view"
)

// namesOf returns the names of the targets of a page.
func namesOf(p document.TargetPage) (out []string) {
	for _, t := range p.Targets {
		out = append(out, t.Name)
	}
	return out
}

// TestTargetCursor: the pages of each order have all targets once, although targets join and leave between two pages.
func TestTargetCursor(t *testing.T) {
	for _, sort := range []string{"", "name", "-name", "state", "-contact", "drift", "-behind", "changed"} {
		v := large(t, 9)
		q := view.TargetQuery{Sort: sort, Now: at(1)}
		all, err := v.Targets(t.Context(), q)
		if err != nil || len(all.Targets) != 9 || all.Cursor != "" {
			t.Fatal(all.Cursor, err)
		}
		want := namesOf(all)
		var got []string
		for q.Limit = 4; ; {
			p, err := v.Targets(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, namesOf(p)...)
			if q.After == "" { // the last target of this page leaves, and one joins before it
				name := map[bool]string{true: "zzz", false: "aaa"}[sort == "-name"]
				put(t, v, fleet.Target{ID: p.Targets[3].ID, Name: p.Targets[3].Name, Standing: fleet.Retired},
					fleet.Target{ID: id(1), Name: name, Standing: fleet.Active})
			}
			if q.After = p.Cursor; q.After == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", sort, got, want)
		}
	}
	v := large(t, 3)
	p, err := v.Targets(t.Context(), view.TargetQuery{Sort: "name", Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []view.TargetQuery{{After: "x"}, {After: p.Cursor, Sort: "drift"}, {By: "rack"}} {
		if _, err := v.Targets(t.Context(), q); !errors.Is(err, view.ErrQuery) {
			t.Errorf("%+v: %v", q, err)
		}
	}
}

// TestLargePages: a page in the middle has the same targets as the whole list.
func TestLargePages(t *testing.T) {
	v := large(t, 1000)
	for _, sort := range []string{"name", "-name", "state"} {
		all, err := v.Targets(t.Context(), view.TargetQuery{Sort: sort})
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []int{0, 7, 400, 998} {
			p, err := v.Targets(t.Context(), view.TargetQuery{Sort: sort, Offset: at, Limit: 5})
			if want := namesOf(all)[at:min(at+5, 1000)]; err != nil || p.Total != 1000 || !slices.Equal(namesOf(p), want) {
				t.Errorf("%s from %d: %v, want %v, %v", sort, at, namesOf(p), want, err)
			}
		}
	}
}

// TestTargetGroups: counts are of the selection. Groups and pages have only targets in the requested state.
func TestTargetGroups(t *testing.T) {
	v := large(t, 7)
	put(t, v, fleet.Target{ID: id(1), Name: "waiting", Standing: fleet.Pending},
		fleet.Target{ID: id(2), Name: "gone", Standing: fleet.Retired})
	if err := v.PutAssignment(t.Context(), assignment(1, 1, 2)); err != nil {
		t.Fatal(err)
	}
	get := func(q view.TargetQuery) document.TargetPage {
		t.Helper()
		p, err := v.Targets(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	p := get(view.TargetQuery{By: "fleet", State: document.Unknown, Limit: 2})
	if p.Total != 7 || len(p.Targets) != 2 || !slices.Equal(p.Labels, []string{"rack", "role"}) ||
		!reflect.DeepEqual(p.States, map[document.State]int{document.Unknown: 7, document.NotInFleet: 1}) {
		t.Errorf("%+v", p)
	}
	if want := []document.TargetGroup{group("fleet0", 3), group("fleet1", 2), group("fleet2", 2)}; !reflect.DeepEqual(
		p.Groups, want) {
		t.Errorf("%+v", p.Groups)
	}
	p = get(view.TargetQuery{By: "label:role"})
	if len(p.Groups) != 2 || p.Groups[1].Name != "" || p.Groups[1].Total != 1 {
		t.Errorf("%+v", p.Groups)
	}
	p = get(view.TargetQuery{By: "module"})
	var got []string
	for _, g := range p.Groups {
		got = append(got, fmt.Sprint(g.Name, " ", g.Total))
	}
	if !slices.Equal(got, []string{" 7", "modules/m0 1", "modules/m1 1"}) {
		t.Errorf("%v", got)
	}
	if p := get(view.TargetQuery{By: "scope"}); len(p.Groups) != 1 || p.Groups[0].Name != "" {
		t.Errorf("without scopes: %+v", p.Groups)
	}
	name := get(view.TargetQuery{State: document.Unknown, Limit: 1}).Targets[0].Name
	view.SetScopes(v, func() map[string][]string {
		return map[string][]string{name: {"cluster/a", "rack/1"}, "other": {"rack/2"}}
	})
	p = get(view.TargetQuery{By: "scope"})
	got = nil
	for _, g := range p.Groups {
		got = append(got, fmt.Sprint(g.Name, " ", g.Total))
	}
	if !slices.Equal(got, []string{" 7", "cluster/a 1", "rack/1 1"}) {
		t.Errorf("%v", got)
	}
	if p := get(view.TargetQuery{By: "all"}); len(p.Groups) > 0 || p.States[document.Unknown] != 7 {
		t.Errorf("%+v", p)
	}
	if p := get(view.TargetQuery{}); p.States != nil {
		t.Errorf("counts without a request: %+v", p)
	}
}

func group(name string, n int) document.TargetGroup {
	return document.TargetGroup{Name: name, Total: n, States: map[document.State]int{document.Unknown: n}}
}

// TestManyGroups: an answer has the largest groups, and the number of the others.
func TestManyGroups(t *testing.T) {
	v := open(t, view.Options{})
	for i := range view.MaxGroups + 3 {
		put(t, v, fleet.Target{ID: fleet.TargetID(fmt.Sprintf("%026d", i)), Name: fmt.Sprint("h", i), Standing: fleet.Active,
			Labels: map[string]string{"n": fmt.Sprint(i)}})
	}
	p, err := v.Targets(t.Context(), view.TargetQuery{By: "label:n"})
	if err != nil || len(p.Groups) != view.MaxGroups || p.MoreGroups != 3 {
		t.Error(len(p.Groups), p.MoreGroups, err)
	}
}
