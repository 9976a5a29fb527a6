// Package verdicts makes trees from the verdicts of scopes and of their parts, for display.
//
//	trees := verdicts.Trees(page.Scopes)           // of all scopes
//	tree := verdicts.Of(detail, page.Scopes)       // of one scope, with its members, checks and tasks
//	fmt.Println(tree.Name, tree.State, tree.Parts) // the worst part first
package verdicts

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"

	"fettle.dev/fettle/internal/fleet/document"
)

// Tree is a scope or a part of one, with its parts.
type Tree struct {
	// Scope is the ID of a scope; "" means a part of a scope, for which Place is its place on the page of the scope.
	Scope, Place string
	Name         string // the name for display
	State        string // a verdict, or the phase of a task
	Text         string // the reason for the state, or a number
	Targets      []string
	Repeated     bool // its parts are elsewhere in the tree
	Parts        []Tree
	More         int // number of further parts
}

// maxRepeated limits the scopes that are in the trees of a page again: many scopes can contain the same one.
const maxRepeated = 500

// forest is the work of Trees and Of.
type forest struct {
	scopes map[string]document.Scope
	shown  map[string]bool // with their parts
	left   int             // number of scopes that may be in the trees again
}

func newForest(all []document.Scope) *forest {
	f := &forest{scopes: map[string]document.Scope{}, shown: map[string]bool{}, left: maxRepeated}
	for _, x := range all {
		f.scopes[x.ID] = x
	}
	return f
}

// Trees returns all scopes, each below the scopes that contain it. The parts of a scope that is contained several times
// are only in the first place.
func Trees(all []document.Scope) (out []Tree) {
	f, contained := newForest(all), map[string]bool{}
	for _, x := range all {
		for _, id := range x.Scopes {
			contained[id] = true
		}
	}
	for _, top := range []bool{true, false} { // then the scopes in a cycle
		for _, x := range all {
			if top != contained[x.ID] && !f.shown[x.ID] {
				out = append(out, f.scope(x.ID))
			}
		}
	}
	worstFirst(out)
	return out
}

// Of returns a scope with its members, checks and tasks, and with the scopes that it contains. within has their
// verdicts.
func Of(d document.ScopeDetail, within []document.Scope) Tree {
	f := newForest(within)
	f.scopes[d.Scope.ID] = d.Scope
	t := f.scope(d.Scope.ID)
	var own []Tree
	if !d.Scope.ByHubs() && (len(d.Scope.Scopes) == 0 || d.Scope.Members > 0) {
		own = append(own, members(d.Scope))
	}
	for _, r := range d.Scope.Reasons {
		if r.Subject == "kind" || r.Subject == "members" {
			own = append(own, Tree{Name: r.Subject, Place: "members", State: string(r.Verdict), Text: r.Text,
				Targets: r.Targets})
		}
	}
	if len(own) > 1 {
		own = own[1:] // the reasons say more than the number of members
	}
	for _, c := range d.Checks {
		own = append(own, check(c, reason(d.Scope, "check", c.Name)))
	}
	for _, x := range d.Tasks {
		name := "task " + x.Task
		if x.Undo {
			name = "undo of " + name
		}
		own = append(own, Tree{Name: name, Place: "task-" + url.PathEscape(x.Task), State: string(x.Phase),
			Text: x.Why()})
	}
	t.Parts = append(own, t.Parts...)
	return t
}

// scope returns a scope with the scopes that it contains.
func (f *forest) scope(id string) Tree {
	x, ok := f.scopes[id]
	if !ok {
		return Tree{Scope: id, Name: id, State: string(document.VerdictUnknown), Text: "no longer declared"}
	}
	t := Tree{Scope: id, Name: id, State: string(x.Verdict), Text: document.FirstReason(x.Reasons)}
	if f.shown[id] {
		t.Repeated = len(x.Scopes) > 0
		return t
	}
	f.shown[id] = true
	for _, member := range x.Scopes {
		if f.shown[member] {
			if f.left--; f.left < 0 {
				t.More++
				continue
			}
		}
		t.Parts = append(t.Parts, f.scope(member))
	}
	worstFirst(t.Parts)
	return t
}

func worstFirst(all []Tree) {
	rank := func(t Tree) int { return slices.Index(document.Verdicts(), document.Verdict(t.State)) }
	slices.SortStableFunc(all, func(a, b Tree) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Name, b.Name))
	})
}

// members describes the members of a scope that are targets and have no reason.
func members(x document.Scope) Tree {
	text := fmt.Sprintf("%d of %d members are connected", x.Connected, x.Members)
	if x.Counted < x.Members {
		text += fmt.Sprintf(", %d of %d count", x.Counted, x.Members)
	}
	if x.MinMembers > 0 {
		text += fmt.Sprintf(", the minimum is %d", x.MinMembers)
	}
	state := document.VerdictReady
	if x.Counted == 0 {
		state = document.VerdictEmpty
	}
	return Tree{Name: "members", Place: "members", State: string(state), Text: text}
}

// check describes a check.
func check(c document.ScopeCheck, why document.ScopeReason) Tree {
	t := Tree{Name: "check " + c.Name, Place: "check-" + url.PathEscape(c.Name), State: string(c.Verdict), Text: why.Text,
		Targets: why.Targets}
	switch {
	case t.Text != "":
	case c.ByHub():
		t.Text = "succeeds on the leading hub"
	default:
		t.Text = fmt.Sprintf("succeeds on %d targets, %d are required", c.OK, c.Required)
	}
	return t
}

// reason returns the reason of a part, or none.
func reason(x document.Scope, subject, name string) document.ScopeReason {
	i := slices.IndexFunc(x.Reasons, func(r document.ScopeReason) bool { return r.Subject == subject && r.Name == name })
	if i < 0 {
		return document.ScopeReason{}
	}
	return x.Reasons[i]
}
