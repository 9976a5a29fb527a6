package scopes

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/route"
)

// several are scopes of three kinds. The room contains both racks, of which one also contains the cluster.
func several() []document.Scope {
	of := func(id string, v document.Verdict, since int64, members ...string) document.Scope {
		kind, name, _ := strings.Cut(id, "/")
		return document.Scope{ID: id, Kind: kind, Name: name, Verdict: v, Since: since, Scopes: members}
	}
	return []document.Scope{of("cluster/db", document.VerdictFailed, 5), of("cluster/web", document.VerdictReady, 1),
		of("rack/r1", document.VerdictReady, 4, "cluster/web"), of("rack/r2", document.VerdictPending, 4),
		of("room/north", document.VerdictPending, 3, "rack/r1", "rack/r2", "rack/gone")}
}

func idsOf(p document.ScopePage) (out []string) {
	for _, x := range p.Scopes {
		out = append(out, x.ID)
	}
	return out
}

// TestSelection: users filter and sort scopes. The numbers of verdicts are of all verdicts.
func TestSelection(t *testing.T) {
	for want, q := range map[string]route.ScopeQuery{
		"cluster/db cluster/web rack/r1 rack/r2 room/north": {},
		"room/north rack/r2 rack/r1 cluster/web cluster/db": {Sort: "-id"},
		"cluster/db rack/r2 room/north cluster/web rack/r1": {Sort: "verdict"},
		"rack/r1 cluster/web room/north rack/r2 cluster/db": {Sort: "-verdict"},
		"cluster/db rack/r1 rack/r2 room/north cluster/web": {Sort: "since"},
		"rack/r1 rack/r2 room/north":                        {Kinds: []string{"rack", "room"}},
		"rack/r1 rack/r2":                                   {Kinds: []string{"rack"}},
		"rack/r2 room/north":                                {Verdict: "pending"},
		"rack/r1":                                           {Verdict: "ready", Kinds: []string{"rack"}},
		"cluster/web rack/r1 rack/r2 room/north":            {Within: "room/north"},
		"cluster/web":                                       {Within: "cluster/web"},
		"":                                                  {Kinds: []string{"none"}},
	} {
		p, err := selectScopes(several(), q)
		if got := strings.Join(idsOf(p), " "); err != nil || got != want {
			t.Errorf("%+v: %s %v, want %s", q, got, err, want)
		}
		if p.Total != len(p.Scopes) || p.Cursor != "" || !slices.Equal(p.Kinds, []string{"cluster", "rack", "room"}) {
			t.Errorf("%+v: %+v", q, p)
		}
	}
	p, err := selectScopes(several(), route.ScopeQuery{Verdict: "ready", Kinds: []string{"rack"}})
	if err != nil || len(p.Verdicts) != 2 || p.Verdicts["ready"] != 1 || p.Verdicts["pending"] != 1 {
		t.Errorf("%v %v", p.Verdicts, err)
	}
	for want, q := range map[string]route.ScopeQuery{"broken": {Verdict: "broken"}, "name": {Sort: "name"},
		"cursor": {After: "x"}, "negative": {Limit: -1}} {
		if _, err := selectScopes(several(), q); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", q, err)
		}
	}
}

// TestWithinUnknownScope: the error for a scope that does not exist suggests a similar one.
func TestWithinUnknownScope(t *testing.T) {
	s := newSite(t)
	h := s.hub()
	h.Declare(revision("c"), db("d1"))
	s.tidy(h)
	p, err := Service{Of: h}.page(t.Context(), route.ScopeQuery{Within: "cluster/db"})
	if err != nil || len(p.Scopes) != 1 {
		t.Errorf("%+v %v", p, err)
	}
	if got := h.ByTarget(); !slices.Equal(got["db1"], []string{"cluster/db"}) || got["web1"] != nil {
		t.Errorf("the scopes of targets: %v", got)
	}
	var refused *api.Refusal
	_, err = Service{Of: h}.page(t.Context(), route.ScopeQuery{Within: "cluster/dbs"})
	if !errors.As(err, &refused) || refused.Status != api.NotFound || !strings.Contains(refused.Hint, "cluster/db?") {
		t.Errorf("%+v", err)
	}
}

// TestPagesOfScopes: pages have each scope once, also if the last scope of a page disappears before the next page.
func TestPagesOfScopes(t *testing.T) {
	for _, sort := range []string{"id", "-id", "verdict", "-verdict", "since", "-since"} {
		all := several()
		whole, err := selectScopes(all, route.ScopeQuery{Sort: sort})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		q := route.ScopeQuery{Sort: sort, Limit: 2}
		for range 3 {
			p, err := selectScopes(all, q)
			if err != nil || p.Total > 5 {
				t.Fatalf("%s: %+v %v", sort, p, err)
			}
			got = append(got, idsOf(p)...)
			all = slices.DeleteFunc(all, func(x document.Scope) bool { return x.ID == got[len(got)-1] })
			q.After = p.Cursor
		}
		if !slices.Equal(got, idsOf(whole)) || q.After != "" {
			t.Errorf("%s: %q, want %q, cursor %q", sort, got, idsOf(whole), q.After)
		}
	}
}
