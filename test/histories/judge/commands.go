package judge

import (
	"fmt"
	"maps"
	"slices"
)

// plain reports whether only the record decides that a command is done.
func (s Step) plain() bool {
	return s.Verb == "EXEC" && s.Attr["creates"] == "" && s.Attr["unless"] == "" && s.Attr["only_if"] == ""
}

// Commands compares the commands that ran in an apply with the required ones. A stopped run may have
// reached none of them.
func (h *History) Commands(list List, ran []string, stopped bool) []string {
	var wrong []string
	done := h.Last().Done
	for _, s := range list {
		if !s.plain() || done[s.Args[0]].Unknown {
			continue
		}
		must, did := done[s.Args[0]].Line != s.Line, slices.Contains(ran, s.Args[0])
		if must && !did && !stopped {
			wrong = append(wrong, fmt.Sprintf("the command %s did not run", s.Args[0]))
		} else if did && !must {
			wrong = append(wrong, fmt.Sprintf("the command %s ran again", s.Args[0]))
		}
	}
	return wrong
}

// After returns the expected status of commands after an apply. ran are the commands that ran, and
// failed are the failed commands. undone reports that the run was then undone as far as possible.
func (h *History) After(list List, ran, failed []string, stopped, undone bool) map[string]Done {
	out := map[string]Done{}
	for _, s := range list {
		if s.Verb != "EXEC" {
			continue
		}
		name := s.Args[0]
		switch {
		case slices.Contains(failed, name):
		case slices.Contains(ran, name) && undone && s.plain(): // it has no undo, so its status is unchanged
			out[name] = Done{Unknown: h.Last().Done[name].Line != ""}
		case slices.Contains(ran, name):
			out[name] = Done{Line: s.Line}
		case !s.plain() && stopped:
			out[name] = Done{Unknown: true}
		case !s.plain():
			out[name] = Done{Line: s.Line}
		default:
			out[name] = h.Last().Done[name]
		}
	}
	for name, d := range h.Last().Done {
		if _, listed := out[name]; stopped && !listed && !slices.Contains(failed, name) && (d.Line != "" || d.Unknown) {
			out[name] = Done{Unknown: true}
		}
	}
	return out
}

// Back returns the expected status of commands after a rollback: as in the goal if nothing changed
// since, and otherwise unknown.
func (h *History) Back(to int) map[string]Done {
	then := map[string]Done{}
	if i := h.at(to); i >= 0 && to > 0 {
		then = h.Runs[i].Done
	}
	out, now := maps.Clone(then), h.Last().Done
	if out == nil {
		out = map[string]Done{}
	}
	for name := range now {
		out[name] = then[name]
	}
	for name := range out {
		if now[name] != then[name] {
			out[name] = Done{Unknown: true}
		}
	}
	return out
}

// Killed records the commands of a killed run that is then undone. Such a command counts as not done,
// even if an earlier version was done: the newer version may have changed its effect. This is unknown
// for a command with an undo, because the recovery may run the undo.
func (h *History) Killed(list List, ran []string) {
	if len(h.Runs) == 0 {
		return
	}
	done := maps.Clone(h.Last().Done)
	if done == nil {
		done = map[string]Done{}
	}
	for _, s := range list {
		switch {
		case s.Verb != "EXEC" || !slices.Contains(ran, s.Args[0]):
		case s.Attr["undo"] != "":
			done[s.Args[0]] = Done{Unknown: true}
		default:
			delete(done, s.Args[0])
		}
	}
	h.Runs[len(h.Runs)-1].Done = done
}

// Unsure returns the unknown status for each command of a list.
func Unsure(l List) map[string]Done {
	out := map[string]Done{}
	for _, s := range l {
		if s.Verb == "EXEC" {
			out[s.Args[0]] = Done{Unknown: true}
		}
	}
	return out
}

// Guarded reports whether an address is a command with a guard, which decides whether it is done.
func (l List) Guarded(addr string) bool {
	return slices.ContainsFunc(l, func(s Step) bool { return s.Verb == "EXEC" && !s.plain() && "exec:"+s.Args[0] == addr })
}
