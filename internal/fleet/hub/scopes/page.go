package scopes

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/route"
)

// selectScopes returns a page of scopes.
func selectScopes(all []document.Scope, q route.ScopeQuery) (document.ScopePage, error) {
	p := document.ScopePage{Format: document.ScopePageFormat, Scopes: []document.Scope{},
		Verdicts: map[document.Verdict]int{}, Kinds: []string{}}
	order, err := orderOf(q.Sort)
	if err != nil {
		return p, err
	}
	if q.Verdict != "" && !slices.Contains(document.Verdicts(), document.Verdict(q.Verdict)) {
		return p, wrongQuery(fmt.Sprintf("cannot select scopes with the verdict %.40q", q.Verdict),
			"Use failed, unknown, pending, empty or ready")
	}
	selected := all
	if q.Within != "" {
		selected = within(all, q.Within)
	}
	kinds := map[string]bool{}
	for _, x := range all {
		kinds[x.Kind] = true
	}
	p.Kinds = slices.AppendSeq(p.Kinds, maps.Keys(kinds))
	slices.Sort(p.Kinds)
	for _, x := range selected {
		if len(q.Kinds) > 0 && !slices.Contains(q.Kinds, x.Kind) {
			continue
		}
		p.Verdicts[x.Verdict]++
		if q.Verdict == "" || string(x.Verdict) == q.Verdict {
			p.Scopes = append(p.Scopes, x)
		}
	}
	p.Total = len(p.Scopes)
	slices.SortFunc(p.Scopes, func(a, b document.Scope) int { return order.compare(order.place(a), order.place(b)) })
	return p, order.cut(&p, q)
}

// within returns a scope, and the scopes that it contains, directly or indirectly.
func within(all []document.Scope, id string) (out []document.Scope) {
	byID := map[string]document.Scope{}
	for _, x := range all {
		byID[x.ID] = x
	}
	seen := map[string]bool{id: true}
	for next := []string{id}; len(next) > 0; {
		x, ok := byID[next[0]]
		next = next[1:]
		if !ok {
			continue // no longer declared
		}
		out = append(out, x)
		for _, member := range x.Scopes {
			if !seen[member] {
				seen[member] = true
				next = append(next, member)
			}
		}
	}
	return out
}

// order is an order of scopes by a number, and then by ID.
type order struct {
	number  func(document.Scope) int64
	reverse bool
}

// place is the place of a scope in an order.
type place struct {
	number int64
	id     string
}

func orderOf(sort string) (order, error) {
	name, reverse := strings.CutPrefix(sort, "-")
	switch name {
	case "", "id":
		return order{func(document.Scope) int64 { return 0 }, reverse}, nil
	case "verdict":
		return order{func(x document.Scope) int64 {
			return int64(slices.Index(document.Verdicts(), x.Verdict))
		}, reverse}, nil
	case "since":
		return order{func(x document.Scope) int64 { return -x.Since }, reverse}, nil
	}
	return order{}, wrongQuery(fmt.Sprintf("cannot sort scopes by %.40q", sort), "Use id, verdict or since")
}

func (o order) place(x document.Scope) place { return place{o.number(x), x.ID} }

func (o order) compare(a, b place) int {
	if o.reverse {
		a, b = b, a
	}
	return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.id, b.id))
}

// cut selects one page of sorted scopes. Its cursor is the place of the last scope, so other scopes can change
// meanwhile.
func (o order) cut(p *document.ScopePage, q route.ScopeQuery) error {
	if q.After != "" {
		number, id, found := strings.Cut(q.After, " ")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil || !found {
			return wrongQuery(fmt.Sprintf("cannot use the cursor %.80q", q.After), "Use the cursor of an earlier answer")
		}
		last := place{n, id}
		i, _ := slices.BinarySearchFunc(p.Scopes, last, func(x document.Scope, at place) int {
			return cmp.Or(o.compare(o.place(x), at), -1)
		})
		p.Scopes = p.Scopes[i:]
	}
	if q.Limit < 0 {
		return wrongQuery("cannot return a negative number of scopes", "Use a limit of at least 1")
	}
	if q.Limit > 0 && len(p.Scopes) > q.Limit {
		p.Scopes = p.Scopes[:q.Limit]
		last := o.place(p.Scopes[q.Limit-1])
		p.Cursor = fmt.Sprintf("%d %s", last.number, last.id)
	}
	return nil
}

func wrongQuery(why, hint string) error {
	return &api.Refusal{Status: api.BadRequest, Why: why, Hint: hint}
}
