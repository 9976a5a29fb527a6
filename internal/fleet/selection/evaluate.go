package selection

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/syntax"
)

// maxErrors limits the errors in one message.
const maxErrors = 10

// evaluation is the evaluation of a selection against an inventory.
type evaluation struct {
	targets []query.Target // by name
	place   map[string]int
	given   Given
	files   map[string]set
	errs    []error
	said    map[string]bool
	where   string // file and line, or "" for the arguments
}

func newEvaluation(inventory []query.Target, g Given) *evaluation {
	e := &evaluation{targets: slices.Clone(inventory), place: make(map[string]int, len(inventory)), given: g,
		files: map[string]set{}, said: map[string]bool{}}
	byName := func(a, b query.Target) int { return strings.Compare(a.Name, b.Name) }
	if !slices.IsSortedFunc(e.targets, byName) { // a stable sort of very many takes longer
		slices.SortStableFunc(e.targets, byName)
	}
	e.targets = slices.CompactFunc(e.targets, func(a, b query.Target) bool { return a.Name == b.Name })
	for i, t := range e.targets {
		e.place[t.Name] = i
	}
	return e
}

// errorf records an error, unless it was recorded already.
func (e *evaluation) errorf(format string, args ...any) {
	text := e.where + fmt.Sprintf(format, args...)
	if !e.said[text] {
		e.said[text] = true
		e.errs = append(e.errs, errors.New(text))
	}
}

func (e *evaluation) err() error {
	if more := len(e.errs) - maxErrors; more > 0 {
		return errors.Join(append(e.errs[:maxErrors:maxErrors], fmt.Errorf("%d more errors", more))...)
	}
	return errors.Join(e.errs...)
}

// mix combines terms: the union of the positive terms, or all targets without any, minus the
// targets that a negative term excludes.
type mix struct {
	adds, takes bool
	chosen      set
	kept        set
}

func (e *evaluation) mix() mix { return mix{chosen: e.none(), kept: e.every()} }

func (m *mix) put(t term, s set) {
	if t.negative() {
		m.takes = true
		m.kept.and(s)
		return
	}
	m.adds = true
	m.chosen.or(s)
}

// result returns the selected targets. Without any term it is empty.
func (m *mix) result() set {
	if m.takes && !m.adds {
		return m.kept
	}
	m.chosen.and(m.kept)
	return m.chosen
}

// terms evaluates terms. Without any term it returns all targets.
func (e *evaluation) terms(terms []term) set {
	if len(terms) == 0 {
		return e.every()
	}
	m := e.mix()
	for _, t := range terms {
		m.put(t, e.term(t))
	}
	return m.result()
}

func (e *evaluation) term(t term) set {
	s := e.every()
	for _, f := range t {
		one := e.factor(f)
		if f.not {
			one.flip(len(e.targets))
		}
		s.and(one)
	}
	return s
}

func (e *evaluation) factor(f factor) set {
	switch f.what {
	case atFile:
		return e.file(f.text)
	case atFailed:
		s := e.none()
		for _, name := range e.given.Failed {
			if i, ok := e.place[name]; ok {
				s.add(i)
			}
		}
		return s
	case byName:
		if f.value.glob == nil {
			return e.named(f.value.text)
		}
		return e.which(func(t query.Target) bool { return f.value.fits(t.Name) })
	case byLabel:
		return e.labelled(f)
	}
	of, what := groups, "target group"
	if f.what == byRole {
		of, what = roles, "role"
	}
	s := e.which(func(t query.Target) bool { return slices.ContainsFunc(of(t), f.value.fits) })
	if f.value.glob == nil && s.empty() {
		e.errorf("cannot select %q: no target has the %s %q.%s", shortened(f.text), what, f.value.text,
			syntax.Suggest(f.value.text, e.all(of)))
	}
	return s
}

func groups(t query.Target) []string { return t.Groups }

func roles(t query.Target) []string { return t.Roles }

// named returns the set with the target of a name.
func (e *evaluation) named(name string) set {
	s := e.none()
	i, ok := e.place[name]
	if !ok {
		e.errorf("cannot select %q: there is no target with this name.%s", shortened(name), syntax.Suggest(name,
			e.all(func(t query.Target) []string { return []string{t.Name} })))
		return s
	}
	s.add(i)
	return s
}

// labelled returns the targets with a label; for KEY!=VALUE also targets without it.
func (e *evaluation) labelled(f factor) set {
	keyed, found := false, false
	s := e.which(func(t query.Target) bool {
		fits := false
		for k, v := range t.Labels {
			if f.key.fits(k) {
				keyed = true
				fits = fits || f.any || f.value.fits(v)
			}
		}
		found = found || fits
		return fits
	})
	if f.differ {
		s.flip(len(e.targets))
	}
	switch {
	case found || f.key.glob != nil:
	case !keyed:
		e.errorf("cannot select %q: no target has the label %q.%s", shortened(f.text), f.key.text,
			syntax.Suggest(f.key.text, e.all(func(t query.Target) []string { return keys(t.Labels) })))
	case f.value.glob == nil:
		e.errorf("cannot select %q: no target has this value of the label %q.%s", shortened(f.text), f.key.text,
			syntax.Suggest(f.value.text, e.all(func(t query.Target) []string {
				if v, ok := t.Labels[f.key.text]; ok {
					return []string{v}
				}
				return nil
			})))
	}
	return s
}

// file evaluates a file. Each line has the syntax of an argument.
func (e *evaluation) file(name string) set {
	if s, ok := e.files[name]; ok {
		return slices.Clone(s)
	}
	text, ok := e.given.Files[name]
	if !ok {
		e.errorf("cannot select @%s: the file was not read", name)
		return e.none()
	}
	m := e.mix()
	for n, line := range strings.Split(text, "\n") {
		if line = withoutComment(line); line == "" {
			continue
		}
		e.where = fmt.Sprintf("%s:%d: ", name, n+1)
		found, err := parse(line, false)
		if err != nil {
			e.errorf("cannot select %q: %v", shortened(line), err)
		}
		for _, t := range found {
			m.put(t, e.term(t))
		}
	}
	e.where = ""
	e.files[name] = m.result()
	return slices.Clone(e.files[name])
}
