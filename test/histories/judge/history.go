package judge

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Run is one run that changed, or could change, the tree.
type Run struct {
	Number        int
	Before, After Tree
	List          List            // the declared steps after it
	Tried         List            // the complete list of a failed run
	Done          map[string]Done // the status of each command after it
	Plan          []Change
}

// decides reports whether the run managed a path after it. A failed run released a path that it
// changed without a step for it.
func (r Run) decides(p string) bool {
	if r.Tried != nil && r.Before[p] != r.After[p] {
		return r.Tried.decides(p)
	}
	return r.List.decides(p)
}

// removes reports whether the plan of the run removed the object of fettle at a path.
func (r Run) removes(p string) bool {
	return slices.ContainsFunc(r.Plan, func(c Change) bool { return c.Action == "remove" && c.path() == p })
}

// Done is the status of a command.
type Done struct {
	Line    string // the step that ran successfully
	Unknown bool   // both answers are acceptable
}

// Change is one line of a plan.
type Change struct{ Action, Addr, Why string }

// Unsure reports whether only the run determines the change, according to the plan.
func (c Change) Unsure() bool {
	return strings.HasPrefix(c.Why, "in sync now;") || c.Provider() != ""
}

// Provider returns the change that may provide a missing object, according to the plan, or "".
func (c Change) Provider() string {
	_, rest, _ := strings.Cut(c.Why, ", which ")
	by, _, found := strings.Cut(rest, " before it can provide")
	if !found || !strings.HasPrefix(c.Why, "needs the ") {
		return ""
	}
	return by
}

// Hopes reports whether the plan names a command as the possible provider. Then the change may fail: a
// command can have any effect, and the commands of these tests create no files.
func (c Change) Hopes() bool { return strings.HasPrefix(c.Provider(), "exec:") }

// repairs reports whether the change reverts a change by others at a path.
func (c Change) repairs(p string) bool { return c.Action == "repair" && below(p, c.path()) }

// path returns the path of a change, or "" for a command.
func (c Change) path() string {
	_, p, _ := strings.Cut(c.Addr, ":")
	p, _, _ = strings.Cut(p, "#")
	if !strings.HasPrefix(p, "/") {
		return ""
	}
	return p
}

// changes reports whether the change modifies the tree.
func (c Change) changes() bool {
	return c.path() != "" && !slices.Contains([]string{"adopt", "forget", "blocked", "run", "check", "later"}, c.Action)
}

// hand is a change by others: its path, and the number of runs before it.
type hand struct {
	runs int
	path string
}

// History contains all runs and all changes by others since the origin.
type History struct {
	Blobs  map[string]string // content of COPY, by source
	Origin Tree
	Runs   []Run
	Acts   Acts
	hands  []hand
	ever   List            // all steps that were ever applied
	own    map[string]bool // contents that others wrote
}

// Begin starts a history.
func Begin(origin Tree, blobs map[string]string) *History {
	h := &History{Blobs: blobs, Origin: origin, own: map[string]bool{}}
	h.precious(origin)
	return h
}

func (h *History) precious(t Tree) {
	for _, l := range t {
		if l.Type == 'f' {
			h.own[l.Data] = true
		}
	}
}

// ByHand records the changes that others made between two states. Changes before the first run belong to the
// origin.
func (h *History) ByHand(before, after Tree) {
	if len(h.Runs) == 0 {
		h.Origin = after
		h.precious(after)
		return
	}
	for _, p := range Differ(before, after) {
		h.hands = append(h.hands, hand{len(h.Runs), p})
		if l := after[p]; l.Type == 'f' {
			h.own[l.Data] = true
		}
	}
}

// Last returns the newest run, or the origin before the first run.
func (h *History) Last() Run {
	if len(h.Runs) == 0 {
		return Run{After: h.Origin}
	}
	return h.Runs[len(h.Runs)-1]
}

// at returns the index of the newest run with this number or a smaller one.
func (h *History) at(number int) int {
	for i := len(h.Runs) - 1; i >= 0; i-- {
		if h.Runs[i].Number <= number {
			return i
		}
	}
	return -1
}

// Known reports whether the history has this run. The origin always exists.
func (h *History) Known(number int) bool {
	i := h.at(number)
	return number == 0 || i >= 0 && h.Runs[i].Number == number
}

// Add records a run and the steps that it applied.
func (h *History) Add(r Run) {
	h.Runs = append(h.Runs, r)
	h.ever = append(append(h.ever, r.List...), r.Tried...)
}

// Reached returns the declared steps after a run that failed: the steps of its list that hold, and
// the steps of the run before. These do not include replaced and reverted steps. The run did not reach the
// other steps, so it does not manage them.
func (h *History) Reached(list List, after Tree) List {
	reached := slices.DeleteFunc(slices.Clone(list), func(s Step) bool { return s.holds(list, h.Blobs, after) != "" })
	return append(reached, slices.DeleteFunc(slices.Clone(h.Last().List), func(s Step) bool {
		left := !slices.ContainsFunc(list, func(o Step) bool { return o.Path() == s.Path() })
		return slices.ContainsFunc(reached, s.replacedBy) || left && s.holds(list, h.Blobs, after) != ""
	})...)
}

// Lost returns contents of others that a run removed. The caller must find them in the record.
func (h *History) Lost(before, after Tree) map[string]string {
	out := map[string]string{}
	for p, l := range before {
		if now := after[p]; l.Type == 'f' && h.own[l.Data] && (now.Type != 'f' || now.Data != l.Data) {
			out[p] = l.Data
		}
	}
	return out
}

// Strangers returns paths that a run changed although no applied list contains the path or a hard link
// to it.
func (h *History) Strangers(list List, before, after Tree) []string {
	var wrong []string
	all := append(slices.Clone(h.ever), list...)
	for _, p := range Differ(before, after) {
		names := append(strings.Fields(before[p].Links), p)
		if !slices.ContainsFunc(names, all.Reaches) {
			wrong = append(wrong, fmt.Sprintf("%s is nothing of a list: %s became %s", p, before[p], after[p]))
		}
	}
	return wrong
}

// Planned compares the changes of a plan with the actual changes.
func Planned(changes []Change, before, after Tree) []string {
	var wrong []string
	differ := Differ(before, after)
	for _, p := range differ {
		if a, b := before[p], after[p]; a.Links != "" && a.Type == b.Type && a.Data == b.Data {
			continue // it is the result of a change of another hard link
		}
		if !slices.ContainsFunc(changes, func(c Change) bool { return c.changes() && below(p, c.path()) }) {
			wrong = append(wrong, fmt.Sprintf("the plan does not mention %s: %s became %s", p, before[p], after[p]))
		}
	}
	for _, c := range changes {
		kept := c.Action == "remove" && after[c.path()].Type == 'd' // files of others are in it
		seen := func(p string) bool { return below(p, c.path()) || within(c, changes, p) }
		if c.changes() && !kept && !c.Unsure() && !followed(c, changes) && !slices.ContainsFunc(differ, seen) {
			wrong = append(wrong, fmt.Sprintf("the plan had %s %s, and nothing changed there", c.Action, c.Addr))
		}
	}
	return wrong
}

// followed tells whether the plan has another line about the path whose result is known only after the
// run. It may restore what the first line changes: metadata that leaves the list returns to its origin,
// and then a file sets the same metadata.
func followed(c Change, all []Change) bool {
	return slices.ContainsFunc(all, func(o Change) bool { return o.Addr != c.Addr && o.path() == c.path() && o.Unsure() })
}

// Same describes the differences of two trees in sentences that begin with what.
func Same(what string, before, after Tree) []string {
	var wrong []string
	for _, p := range Differ(before, after) {
		wrong = append(wrong, fmt.Sprintf("%s: %s was %s and is %s", what, p, before[p], after[p]))
	}
	return wrong
}

// Undone describes the differences of two trees, of which the first is the tree before a run of one of
// the lists that was undone. A removed directory returns as a copy, so its files are no longer the same
// files as names outside of it. A symbolic link always returns as a separate link.
func Undone(what string, lists []List, before, after Tree) []string {
	all := slices.Concat(lists...)
	before = maps.Clone(before)
	for p, was := range before {
		names := append(strings.Fields(was.Links), p)
		if after[p].Links == "" && (was.Type == 'l' || slices.ContainsFunc(names, all.removesAbove)) {
			was.Links = ""
			before[p] = was
		}
	}
	return Same(what, before, after)
}

// Numbers returns the numbers of the runs, ascending.
func (h *History) Numbers() []int {
	var out []int
	for _, r := range h.Runs {
		if len(out) == 0 || out[len(out)-1] != r.Number {
			out = append(out, r.Number)
		}
	}
	return out
}

// TouchedByOthers reports whether others changed any path since the origin.
func (h *History) TouchedByOthers() bool { return len(h.hands) > 0 }

// Settled records that the newest run reached a list, so that its commands count as done.
func (h *History) Settled(l List) {
	if len(h.Runs) > 0 {
		h.Runs[len(h.Runs)-1].Done = h.After(l, nil, nil, false, false)
	}
}

// within reports whether a changed path is a directory above the change that the plan also changes. A
// path that is restored in a directory and removed with it leaves no change.
func within(c Change, all []Change, p string) bool {
	return below(c.path(), p) && slices.ContainsFunc(all, func(o Change) bool { return o.changes() && o.path() == p })
}

// BlockedBy returns the steps whose paths a plan does not change. They stay managed.
func (l List) BlockedBy(changes []Change) List {
	return slices.DeleteFunc(slices.Clone(l), func(s Step) bool {
		return s.Path() == "" || !slices.ContainsFunc(changes,
			func(c Change) bool { return c.Action == "blocked" && c.path() == s.Path() })
	})
}
