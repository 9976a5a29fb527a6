package plan

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/step"
)

// suggested adds similar existing names to an error about missing objects.
func (m *providers) suggested(err error) error {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		var each []error
		for _, e := range all.Unwrap() {
			each = append(each, m.suggested(e))
		}
		return errors.Join(each...)
	}
	for _, need := range lacked(err) {
		if near := m.nearest(need, 1+max(1, min(3, len(stem(need))/3))); near != "" {
			return fmt.Errorf("%w. Did you mean %q?", err, near)
		}
	}
	return err
}

// lacked returns the addresses whose absence causes an error, or one of several joined errors.
func lacked(err error) []addr.Addr {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		var out []addr.Addr
		for _, e := range all.Unwrap() {
			out = append(out, lacked(e)...)
		}
		return out
	}
	var n interface{ Needs() addr.Addr }
	if err != nil && errors.As(err, &n) {
		return []addr.Addr{n.Needs()}
	}
	return nil
}

// doubt returns why the change that should provide a missing object may not: its name is similar to an
// existing name, or the installed version of the package does not contain it.
func (m *providers) doubt(err error) string {
	var out []string
	for _, need := range lacked(err) {
		by, sure := m.provider(need)
		if by.Addr == "" || sure == exactly {
			continue
		}
		if f := by.From; by.Addr.Kind() == addr.KindPkg && f != nil && f.Package() != nil && f.Package().Version != "" {
			out = append(out, fmt.Sprintf("version %s of %s, which is installed, does not provide the %s",
				f.Package().Version, by.Addr.Name(), inWords(need)))
		}
		if near := m.mistyped(need); near != "" {
			out = append(out, fmt.Sprintf("no %s %q is known; did you mean %q?", noun(need), need.Name(), near))
		}
	}
	return strings.Join(out, "; ")
}

// mistyped returns the name that was probably intended, although a change may provide the written
// name. It ignores short names and names that differ only in a number, which are often similar.
func (m *providers) mistyped(need addr.Addr) string {
	const shortest, long = 4, 8
	written, limit := stem(need), 2
	if len(written) < shortest {
		return ""
	}
	if len(written) >= long {
		limit = 3
	}
	if slices.Contains(m.names(need), written) {
		return "" // a change creates it, such as the package of the same name
	}
	near := m.nearest(need, limit)
	if letters(near) == letters(need.Name()) {
		return ""
	}
	return near
}

// letters returns a name without its digits.
func letters(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, name)
}

// nearest returns the name of the host or the list that is closest to need, in the form that a user
// writes. It considers names with fewer edits than limit.
func (m *providers) nearest(need addr.Addr, limit int) string {
	near := diag.Nearest(stem(need), m.names(need), limit)
	switch {
	case near == "":
		return ""
	case need.Kind() == addr.KindFile:
		return path.Join(path.Dir(need.Name()), near)
	case need.Kind() == addr.KindUnit:
		return near + strings.TrimPrefix(need.Name(), stem(need))
	}
	return near
}

// names returns the stems of the names of the type of need that exist on the host or that the list
// creates.
func (m *providers) names(need addr.Addr) []string {
	var out []string
	if m.in.Names != nil {
		for _, name := range m.in.Names(need) {
			out = append(out, likeNeed(need, name)...)
		}
	}
	for _, s := range m.in.Desired {
		if !s.Absent() {
			out = append(out, makes(s, need)...)
		}
	}
	return out
}

// likeNeed returns the stem of a name if it has the same type of unit as need, and an instance if need
// has one.
func likeNeed(need addr.Addr, name string) []string {
	if need.Kind() != addr.KindUnit {
		return []string{name}
	}
	if path.Ext(name) != path.Ext(need.Name()) || strings.Contains(name, "@") != strings.Contains(need.Name(), "@") {
		return nil
	}
	return []string{stem(addr.New(addr.KindUnit, name))}
}

// makes returns the stems of the objects of the type of need that a step creates. A package often has
// a service or a program with its own name.
func makes(s step.Step, need addr.Addr) []string {
	a, kind := s.Addr(), need.Kind()
	switch {
	case a.Kind() == kind && kind != addr.KindUnit && kind != addr.KindFile:
		return []string{a.Name()}
	case a.Kind() == addr.KindUser && kind == addr.KindGroup && s.Get("group") == "":
		return []string{a.Name()}
	case a.Kind() == addr.KindPkg &&
		(kind == addr.KindProgram || kind == addr.KindUnit && path.Ext(need.Name()) == ".service"):
		name, _, _ := strings.Cut(a.Name(), ":")
		return []string{name}
	}
	dir, base := path.Dir(s.Path()), path.Base(s.Path())
	switch {
	case a.Kind() != addr.KindFile:
	case kind == addr.KindUnit && slices.Contains(unitDirs, dir), kind == addr.KindFile && dir == path.Dir(need.Name()):
		return likeNeed(need, base)
	case kind == addr.KindProgram && slices.Contains(programDirs, dir):
		return []string{base}
	}
	return nil
}

// noun returns the word for the type of need.
func noun(need addr.Addr) string {
	return strings.TrimSuffix(inWords(need), " "+need.Name())
}
