package plan

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
)

// atItsTurn returns why only the run can decide whether a command runs, or can run; "" if the plan can
// decide. It is an error if the host does not have the program and no earlier step provides it. A
// rollback uses the recorded result instead.
func (m *providers) atItsTurn(s step.Step, now image.Image) (string, error) {
	switch {
	case m.in.Goal != nil || now.Exec() == nil:
		return "", nil
	case now.Exec().GuardsNotRun != "":
		return now.Exec().GuardsNotRun, nil
	case now.Exec().NotWanted && m.answersDifferently(s.Get("only_if"), s.Get("cwd")):
		return "its only_if does not hold now, and an earlier step may change that", nil
	case now.Exec().MissingProgram != "":
		err := missing{program(s, now.Exec().MissingProgram), now.Exec().MissingProgram}
		by, later := m.later(err)
		if !later {
			return "", err
		}
		return by, nil
	}
	return "", nil
}

// doubtful returns why a command may not find its program, or the program of its guard.
func (m *providers) doubtful(s step.Step, now image.Image) string {
	switch {
	case m.in.Goal != nil || now.Exec() == nil:
		return ""
	case now.Exec().MissingProgram != "":
		return m.doubt(missing{program(s, now.Exec().MissingProgram), now.Exec().MissingProgram})
	}
	return m.doubt(m.in.Failed[s.Addr()])
}

// missing is a program or unit that a command or action needs and that the host does not have.
type missing struct {
	need addr.Addr
	name string
}

func (e missing) Needs() addr.Addr { return e.need }

func (e missing) Error() string {
	if e.need.Kind() == addr.KindUnit {
		return fmt.Sprintf("there is no unit %q on this host, and no step before this one can provide it; "+
			"correct the name, install the package that ships it, or write its unit file", e.name)
	}
	return fmt.Sprintf("there is no program %q on this host, and no step before this one can provide it; "+
		"correct the name, or put the step that installs it before this one", e.name)
}

// program returns the address of a program from its path or name in a step.
func program(s step.Step, name string) addr.Addr {
	if !strings.Contains(name, "/") {
		return addr.New(addr.KindProgram, name)
	}
	return addr.File(in(s.Get("cwd"), name))
}

// asRecorded reports whether a step that cannot be observed is planned from the records of earlier
// runs: a command in a rollback.
func (m *index) asRecorded(s step.Step) bool { return m.in.Goal != nil && s.Verb == step.Exec }

// answersDifferently reports whether an earlier change of this plan may change the result of a guard.
// A guard is a program, so any change may. The exception is test, which depends only on the paths in
// its arguments.
func (m *forecast) answersDifferently(guard, cwd string) bool {
	words, err := step.SplitWords(guard)
	looks := err == nil && len(words) > 0 && slices.Contains([]string{"test", "["}, path.Base(words[0]))
	for a := range m.changed {
		if !looks || !isPath(a) || slices.ContainsFunc(words[1:], func(w string) bool { return onTheWay(a, in(cwd, w)) }) {
			return true
		}
	}
	return false
}

// in resolves a path relative to a working directory.
func in(cwd, p string) string {
	if path.IsAbs(p) {
		return path.Clean(p)
	}
	return path.Join("/", cwd, p)
}

// onTheWay reports whether one of two paths is equal to the other or below it.
func onTheWay(a addr.Addr, p string) bool {
	q := a.Path() + "/"
	return strings.HasPrefix(q, p+"/") || strings.HasPrefix(p+"/", q)
}

// WithoutDirectory returns the text of the error about a path whose directory dir, or a directory above it, does not
// exist.
func WithoutDirectory(p, dir string) string {
	what := fmt.Sprintf("Declare it first: directory %q {}", path.Dir(p))
	if pkg := step.Ships(dir); pkg != "" {
		what = fmt.Sprintf("The package %s provides it. Declare it first: package %q {}", pkg, pkg)
	}
	return fmt.Sprintf("cannot write %q: the directory %q does not exist. %s", p, dir, what)
}

// noPlace is the error of a created path whose directory does not exist.
type noPlace struct{ path, dir string }

func (e noPlace) Needs() addr.Addr { return addr.File(e.dir) }
func (e noPlace) Error() string    { return WithoutDirectory(e.path, e.dir) }

// place checks the directory of a path that a list creates. It returns an error if the host does not have the
// directory and no earlier change can provide it. how names a change that may provide it.
func (m *maker) place(s step.Step, c Change) (how string, err error) {
	dir := path.Dir(c.Addr.Path())
	need := addr.File(dir)
	if m.in.Goal != nil || m.in.Absent == nil || !creates(c) || m.changed[need] || m.behindLink(s) ||
		m.inTree(s.Path()) || !m.in.Absent(dir) {
		return "", nil
	}
	err = noPlace{c.Addr.Path(), dir}
	by, sure := m.providers.provider(need)
	switch {
	case by.Addr == "" && !m.waits():
		return "", err
	case sure == maybe:
		how, _ = m.providers.later(err)
	}
	return how, nil
}

// waits reports whether a step before waits for a condition that other programs cause.
func (m *forecast) waits() bool {
	return slices.ContainsFunc(m.p.Changes, func(c Change) bool { return c.Action == Wait })
}

// creates reports whether a change creates an object where none is.
func creates(c Change) bool {
	if !c.Action.Mutates() || c.From == nil || c.To == nil {
		return false
	}
	from, to := c.From.File(), c.To.File()
	return makesFile(c) || from != nil && from.Type == image.Absent && to != nil && to.Type != image.Absent
}
