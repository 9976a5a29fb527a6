package judge

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Acts describes the actions that an earlier run left for the next one.
type Acts struct {
	Due    map[string]string // the step of each action that failed, by name
	Unsure bool              // a run was undone or interrupted, so any action may be pending
}

// Actions compares the actions that ran in a successful apply with the required ones. An action must
// run once if an address that notifies it changed, and otherwise not at all.
func (h *History) Actions(list List, before, after Tree, ran []string) []string {
	var wrong []string
	for _, s := range list {
		if s.Verb != "ACT" {
			continue
		}
		name, times := s.Args[1], 0
		for _, r := range ran {
			if r == s.Args[1] {
				times++
			}
		}
		must, may := h.Acts.Due[name] == s.Line, h.Acts.Unsure || h.Acts.Due[name] != "" || h.Last().List.saysOtherwise(s)
		for _, on := range strings.Fields(s.Attr["on"]) {
			yes, known := triggered(on, before, after, ran)
			must, may = must || yes && known, may || !known
		}
		switch {
		case times > 1:
			wrong = append(wrong, fmt.Sprintf("the action %s ran %d times", name, times))
		case must && times == 0:
			wrong = append(wrong, fmt.Sprintf("the action %s did not run", name))
		case !must && !may && times > 0:
			wrong = append(wrong, fmt.Sprintf("the action %s ran, and nothing that notifies it changed", name))
		}
	}
	return wrong
}

// saysOtherwise reports whether a list has the action with other notifications, which also count in
// the run that removes them.
func (l List) saysOtherwise(s Step) bool {
	return slices.ContainsFunc(l, func(o Step) bool {
		return o.Verb == "ACT" && o.Args[1] == s.Args[1] &&
			o.Line != s.Line
	})
}

// triggered reports whether an address changed in a run. This is unknown if another path can cause the
// change: a hard link, or a directory that is restored with its content.
func triggered(on string, before, after Tree, ran []string) (yes, known bool) {
	kind, name, _ := strings.Cut(on, ":")
	if kind != "file" {
		return slices.Contains(ran, strings.TrimPrefix(name, "run/")), true
	}
	a, b := before[name], after[name]
	above := before[path.Dir(name)].Type == 'd' || after[path.Dir(name)].Type == 0
	return a != b, a.Links == "" && b.Links == "" && above
}

// ActsAfter records the actions that a run leaves for the next one. failed are the failed actions and
// commands.
func (h *History) ActsAfter(list List, failed []string, succeeded bool) {
	h.Acts = Acts{Due: map[string]string{}, Unsure: !succeeded}
	for _, s := range list {
		if s.Verb == "ACT" && !succeeded && slices.Contains(failed, s.Args[1]) {
			h.Acts.Due[s.Args[1]] = s.Line
		}
	}
}

// ActsBack removes due actions that a rollback to a run executed, and due actions that are not
// in the list of that run.
func (h *History) ActsBack(to int, ran []string) {
	list := h.ListAt(to)
	for name, line := range h.Acts.Due {
		if slices.Contains(ran, name) || !slices.ContainsFunc(list, func(s Step) bool { return s.Line == line }) {
			delete(h.Acts.Due, name)
		}
	}
}

// Making compares the commands with creates that ran in a successful apply with the paths that existed
// before. The keys of existed are names of commands.
func Making(list List, existed map[string]bool, ran []string) []string {
	var wrong []string
	for _, s := range list {
		if s.Verb != "EXEC" || s.Attr["creates"] == "" {
			continue
		}
		switch did := slices.Contains(ran, s.Args[0]); {
		case did && existed[s.Args[0]]:
			wrong = append(wrong, fmt.Sprintf("the command %s ran, although the path of creates existed", s.Args[0]))
		case !did && !existed[s.Args[0]]:
			wrong = append(wrong, fmt.Sprintf("the command %s did not run, although the path of creates did not exist",
				s.Args[0]))
		}
	}
	return wrong
}
