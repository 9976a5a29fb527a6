package plan

import (
	"path"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
)

// atItsTurn says why only the run can tell whether a command runs, "" where the plan
// can. A rollback goes by the record.
func (m *maker) atItsTurn(s step.Step, now image.Image) string {
	switch {
	case m.in.Goal != nil || now.Exec == nil:
		return ""
	case now.Exec.Unasked != "":
		return now.Exec.Unasked
	case now.Exec.NotWanted && m.answersDifferently(s.Get("only_if"), s.Get("cwd")):
		return "its only_if does not hold now, and an earlier step may change that"
	}
	return ""
}

// asRecorded tells whether a step whose address cannot be observed is planned from
// the record of earlier runs: a command that a rollback goes back to.
func (m *maker) asRecorded(s step.Step) bool { return m.in.Goal != nil && s.Verb == step.Exec }

// answersDifferently tells whether an earlier change of this plan may change what a
// guard says. A guard is a program, so any change may, but for test: of changed paths,
// it sees only those that it names.
func (m *maker) answersDifferently(guard, cwd string) bool {
	words, err := step.SplitWords(guard)
	looks := err == nil && len(words) > 0 && slices.Contains([]string{"test", "["}, path.Base(words[0]))
	for a := range m.changed {
		if !looks || !isPath(a) || slices.ContainsFunc(words[1:], func(w string) bool { return onTheWay(a, in(cwd, w)) }) {
			return true
		}
	}
	return false
}

// in is a path as seen from a working directory.
func in(cwd, p string) string {
	if path.IsAbs(p) {
		return path.Clean(p)
	}
	return path.Join("/", cwd, p)
}

// onTheWay tells whether one of two paths is the other or below it.
func onTheWay(a addr.Addr, p string) bool {
	q := a.Path() + "/"
	return strings.HasPrefix(q, p+"/") || strings.HasPrefix(p+"/", q)
}
