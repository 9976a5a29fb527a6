package judge

import (
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"
)

// Restored describes the errors of a rollback to a run. found is the tree before the rollback, and
// left the tree after it.
func (h *History) Restored(to int, found, left Tree) []string {
	paths := map[string]bool{}
	for _, t := range []Tree{h.goal(to), found, left, h.Origin} {
		for p := range t {
			paths[p] = true
		}
	}
	var wrong []string
	for p := range paths {
		allowed, any := h.allowed(to, p, found)
		if left[p].Type == 'd' && h.holdsOthers(p, 0, left) {
			any = true // content of others is restored, or stays
		}
		if h.belowOthers(to, p, left) && !h.leftToOthers(to, p) {
			allowed = append(allowed, Leaf{})
		}
		if h.inLeft(to, p, found) || h.goal(to)[p].Type == 0 && (h.Last().List.forbids(p) || h.inForbidden(to, p)) {
			allowed = append(allowed, found[p])
		}
		if h.inLeft(to, p, found) && !h.ListAt(to).declares(p) {
			allowed = append(allowed, h.beforeSteps(p))
		}
		if inCreated(p, found, left) {
			allowed = append(allowed, h.goal(to)[p])
		}
		if any || slices.ContainsFunc(allowed, func(l Leaf) bool { return h.alike(to, p, l, left[p]) }) {
			continue
		}
		why := fmt.Sprintf("rollback to %d: %s is %s and must be", to, p, left[p])
		for _, l := range allowed {
			why += fmt.Sprintf(" %s;", l)
		}
		wrong = append(wrong, why)
	}
	sort.Strings(wrong)
	return wrong
}

// belowOthers reports whether a path cannot exist, because a path above it is a file of others that
// the rollback restored or left.
func (h *History) belowOthers(to int, p string, left Tree) bool {
	first := 0
	if to > 0 {
		first = h.at(to) + 1
	}
	for d := path.Dir(p); d != "/"; d = path.Dir(d) {
		if t := left[d].Type; t != 0 && t != 'd' {
			return h.handsAt(d, first)
		}
	}
	return false
}

// inCreated reports whether a path is in a directory that the rollback created. Such a directory is restored in
// one piece.
func inCreated(p string, found, left Tree) bool {
	for d := path.Dir(p); d != "/"; d = path.Dir(d) {
		if found[d].Type != 'd' && left[d].Type == 'd' {
			return true
		}
	}
	return false
}

// goal returns the tree after a run; number 0 is the origin.
func (h *History) goal(to int) Tree {
	if i := h.at(to); i >= 0 && to > 0 {
		return h.Runs[i].After
	}
	return h.Origin
}

// allowed returns the states that a rollback may leave at a path. The second result is true
// if any state is allowed.
func (h *History) allowed(to int, p string, found Tree) ([]Leaf, bool) {
	goal, first := h.goal(to)[p], 0
	if to > 0 {
		first = h.at(to) + 1
	}
	allowed := append([]Leaf{goal}, h.repaired(p, first)...)
	if !h.handsAt(p, first) {
		if goal.Type != 'd' && h.holdsOthers(p, first, found) {
			allowed = append(allowed, found[p])
		}
		return allowed, false
	}
	before, touched, returned := h.foundSince(to, p, first)
	if returned {
		allowed = h.repaired(p, first) // the state of the goal is older than the change by others
	}
	allowed = append(allowed, before...)
	if !touched || h.released(p) || h.unreached(p) {
		allowed = append(allowed, found[p]) // it was released, or never changed
	}
	if h.leftToOthers(to, p) && h.mayManage(p) {
		allowed = append(allowed, found[p])
	} else if h.leftToOthers(to, p) {
		allowed = []Leaf{found[p]}
		if to > 0 {
			allowed = append(allowed, present(before)...)
		}
	}
	return allowed, touched && h.inPart(p)
}

// present returns the states that are not absent.
func present(states []Leaf) []Leaf {
	return slices.DeleteFunc(slices.Clone(states), func(l Leaf) bool { return l.Type == 0 })
}

// unreached reports whether a failed run had a step for a path and did not change it. Then it may not have reached
// the step, and does not manage the path.
func (h *History) unreached(p string) bool {
	return slices.ContainsFunc(h.Runs, func(r Run) bool {
		return r.Tried != nil && r.Tried.decides(p) && r.Before[p] == r.After[p]
	})
}

// leftToOthers reports whether a rollback must leave a path. It was absent at the goal, and others
// changed it after the last run that changed it. It was released, or the applied list forbids it.
func (h *History) leftToOthers(to int, p string) bool {
	last := 0
	for i, r := range h.Runs {
		if r.Before[p] != r.After[p] {
			last = i + 1
		}
	}
	return h.goal(to)[p].Type == 0 && (h.released(p) || h.Last().List.forbids(p)) && h.handsAt(p, last)
}

// inLeft reports whether a path is in a directory that a rollback leaves. The directory was absent at the
// goal, and others changed it or a path in it since. It was released, or a step of the goal removes it as a
// whole.
func (h *History) inLeft(to int, p string, found Tree) bool {
	for d := path.Dir(p); d != "/"; d = path.Dir(d) {
		free := h.released(d) || h.ListAt(to).decides(d)
		if h.goal(to)[d].Type == 0 && free && h.holdsOthers(d, max(h.at(to), 0), found) || h.leftToOthers(to, d) {
			return true
		}
	}
	return false
}

// beforeSteps returns the state of a path before the newest runs without interruption that manage it. It returns with
// the release of the path.
func (h *History) beforeSteps(p string) Leaf {
	was := h.Last().After[p]
	for _, r := range slices.Backward(h.Runs) {
		if !r.decides(p) {
			break
		}
		was = r.Before[p]
	}
	return was
}

// inForbidden reports whether a path is in a directory that must be absent at the goal, and that an earlier rollback
// left there to others. If the path was released since then, the rollback may leave its present content.
func (h *History) inForbidden(to int, p string) bool {
	for d := path.Dir(p); d != "/"; d = path.Dir(d) {
		if h.goal(to)[d].Type == 'd' && h.ListAt(to).forbids(d) && h.released(d) {
			return true
		}
	}
	return false
}

// foundSince returns the states of a path that the runs after a goal found when they first changed
// it. If others changed the path after its release, the next run that changes it counts too. A run that removes what
// fettle created releases the path, also in a purged directory: a rollback purges nothing. returned
// reports that the release had restored the earlier state: then only the next run counts.
func (h *History) foundSince(to int, p string, first int) (before []Leaf, touched, returned bool) {
	known := false
	for i, r := range h.Runs[first:] {
		if r.Before[p] != r.After[p] && (to == 0 || !known) {
			before, known, touched = append(before, r.Before[p]), true, true
		}
		if to == 0 || !known || r.decides(p) && !r.removes(p) || !h.handsBefore(p, first+i+1) {
			continue
		}
		known = false
		if r.After[p] == before[len(before)-1] {
			before, returned = nil, true
		}
	}
	return before, touched, returned
}

// released reports whether a path was released: since its last change by a run, there is a run whose
// list does not contain the path. A run with the path that failed before it changed the path makes no
// difference.
func (h *History) released(p string) bool {
	for _, r := range slices.Backward(h.Runs) {
		if !r.decides(p) {
			return true
		}
		if r.Before[p] != r.After[p] {
			return false
		}
	}
	return false
}

// mayManage reports whether it is unknown whether a path was released: its step left the list of a failed run that
// did not change the path, or that undid the change.
func (h *History) mayManage(p string) bool {
	for i, r := range slices.Backward(h.Runs) {
		if !r.decides(p) {
			return r.Tried != nil && r.Before[p] == r.After[p] && i > 0 && h.Runs[i-1].decides(p)
		}
		if r.Before[p] != r.After[p] {
			return false
		}
	}
	return false
}

// repaired returns the states that repairs left at a path: a rollback does not restore drift that a
// repair removed.
func (h *History) repaired(p string, first int) []Leaf {
	var out []Leaf
	for _, r := range h.Runs[first:] {
		if slices.ContainsFunc(r.Plan, func(c Change) bool { return c.repairs(p) }) {
			out = append(out, r.After[p])
		}
	}
	return out
}

// handsAt reports whether others changed a path after a number of runs.
func (h *History) handsAt(p string, first int) bool {
	return slices.ContainsFunc(h.hands, func(x hand) bool { return x.runs >= first && x.path == p })
}

// handsBefore reports whether others changed a path after a number of runs, and before the next run that
// changed it.
func (h *History) handsBefore(p string, first int) bool {
	next := first
	for next < len(h.Runs) && h.Runs[next].Before[p] == h.Runs[next].After[p] {
		next++
	}
	return slices.ContainsFunc(h.hands, func(x hand) bool { return x.runs >= first && x.runs <= next && x.path == p })
}

// holdsOthers reports whether others changed a path below a path.
func (h *History) holdsOthers(p string, first int, t Tree) bool {
	return slices.ContainsFunc(h.hands, func(x hand) bool {
		return x.runs >= first && x.path != p && below(x.path, p) && t[x.path].Type != 0
	})
}

// inPart reports whether a step ever wrote a part of a path. Changes by others around this part stay,
// so the result is neither of the two states.
func (h *History) inPart(p string) bool {
	return slices.ContainsFunc(h.ever, func(s Step) bool {
		return (s.Verb == "EDIT" || s.Verb == "META" || s.Verb == "MKDIR") && s.Path() == p
	})
}

// alike reports whether a leaf is the required one. A rollback keeps the time of an edited file whose
// content is already right, and a repaired file has the time of its repair. Restored hard links become
// separate files.
func (h *History) alike(to int, p string, must, is Leaf) bool {
	if to > 0 && (h.inPart(p) || h.handsAt(p, h.at(to)+1) || len(h.repaired(p, h.at(to)+1)) > 0) {
		must.Mtime, is.Mtime = 0, 0
	}
	if is.Links == "" && h.dressedByName(must) {
		must.Mode, must.UID, must.GID = is.Mode, is.UID, is.GID
	}
	must.Links, is.Links = "", ""
	return must == is
}

// dressedByName reports whether a step ever could set the metadata of another hard link of a file.
func (h *History) dressedByName(l Leaf) bool {
	return slices.ContainsFunc(h.ever, func(s Step) bool {
		return (s.Verb == "META" || s.Verb == "COPY") && slices.Contains(strings.Fields(l.Links), s.Path())
	})
}

// ListAt returns the declared steps after a run, none at the origin.
func (h *History) ListAt(number int) List {
	if i := h.at(number); i >= 0 && number > 0 {
		return h.Runs[i].List
	}
	return nil
}
