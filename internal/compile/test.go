package compile

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/eval"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/step"
)

// Verdict is the result of one test of a repository.
type Verdict struct {
	ID    string // its file and its name
	Range diag.Range
	// Failures are the differences from the expectations, at the place of the expectation or of the
	// error; none if the test passed.
	Failures diag.List
	// Golden is the file that should contain the whole list, "" if the test has no such file. List
	// is its expected content.
	Golden, List string
}

// otherList and noList are the summaries of failures that fettle test --update fixes.
const otherList, noList = "Different step list", "Step list is missing"

// Others returns the failures that fettle test --update does not fix.
func (v Verdict) Others() diag.List {
	return slices.DeleteFunc(slices.Clone(v.Failures), func(d diag.Diagnostic) bool {
		return d.Summary == otherList || d.Summary == noList
	})
}

// Tests returns the IDs of the repository's tests, by file and position.
func (r *Repository) Tests() ([]string, diag.List) {
	tests, ds := r.tests()
	ids := make([]string, len(tests))
	for i, t := range tests {
		ids[i] = t.ID()
	}
	return ids, ds
}

func (r *Repository) tests() ([]*source.Test, diag.List) {
	if r.ds.HasErrors() {
		return nil, slices.Clone(r.ds)
	}
	tests, more := r.program.Tests()
	return tests, sorted(append(slices.Clone(r.ds), more...))
}

// RunTest runs one test. It is as pure as Compile.
func (r *Repository) RunTest(id string) Verdict {
	tests, ds := r.tests()
	if ds.HasErrors() {
		return Verdict{ID: id, Failures: ds}
	}
	for _, t := range tests {
		if t.ID() == id {
			v := judge(r.program, r.tree, t)
			v.Failures = sorted(r.program.WithLines(v.Failures))
			return v
		}
	}
	return Verdict{ID: id, Failures: diag.List{diag.Errorf(diag.Range{}, "Unknown test",
		"The repository has no test %q.", id)}}
}

// judge compiles the subject of a test and compares the result with the expectations.
func judge(p *source.Program, tree repo.Tree, t *source.Test) Verdict {
	v := Verdict{ID: t.ID(), Range: t.Range}
	c, ds := eval.Catalog(p, eval.Input{Test: t})
	var res Result
	if !ds.HasErrors() {
		var more diag.List
		res, more = FromCatalog(c)
		ds = append(ds, more...)
	}
	if t.Expect.Error != "" {
		v.Failures = missingError(ds, t.Expect)
		return v
	}
	if ds.HasErrors() {
		v.Failures = ds
		return v
	}
	x := examiner{expect: t.Expect, prefix: t.Prefix(), res: res}
	x.states()
	x.steps()
	x.order()
	v.Failures = x.failures
	if t.Expect.List != "" {
		v.Golden, v.List = path.Join(path.Dir(t.File), t.Expect.List), text(res.List)
		v.Failures = append(v.Failures, golden(tree, v, t.Expect.Range)...)
	}
	return v
}

func missingError(ds diag.List, e source.Expect) diag.List {
	var found []string
	for _, d := range ds {
		if strings.Contains(d.Summary+": "+d.Detail, e.Error) {
			return nil
		}
		found = append(found, d.Summary+": "+d.Detail)
	}
	if len(found) == 0 {
		return diag.List{diag.Errorf(e.Range, "Error expected",
			"The test expects an error with %q, but the target compiles.", e.Error)}
	}
	return diag.List{diag.Errorf(e.Range, "Different error",
		"The test expects an error with %q. The error is: %s", e.Error, strings.Join(found, " — "))}
}

// text returns a list as it is printed, without places.
func text(l step.List) string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.String() + "\n")
	}
	return b.String()
}

func golden(tree repo.Tree, v Verdict, rng diag.Range) diag.List {
	want, err := tree.ReadFile(v.Golden)
	if err != nil {
		return diag.List{diag.Errorf(rng, noList,
			"Cannot read %s. To write it, run fettle test --update, then review its content.", v.Golden)}
	}
	if line, a, b := firstDifference(string(want), v.List); line > 0 {
		return diag.List{diag.Errorf(rng, otherList,
			"Line %d of %s is %q, but the compiled list has %q there. If this change is intended, run fettle test --update.",
			line, v.Golden, a, b)}
	}
	return nil
}

// firstDifference returns the number of the first line that differs, 0 for none.
func firstDifference(want, got string) (line int, a, b string) {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		a, b = "", ""
		if i < len(w) {
			a = w[i]
		}
		if i < len(g) {
			b = g[i]
		}
		if a != b || i >= len(w) != (i >= len(g)) {
			return i + 1, a, b
		}
	}
	return 0, "", ""
}

// examiner compares a result with expectations.
type examiner struct {
	expect   source.Expect
	prefix   string
	res      Result
	failures diag.List
}

func (x *examiner) failf(w source.Want, summary, detail string, args ...any) {
	x.failures = append(x.failures, diag.Errorf(w.Range, summary, detail, args...))
}

func (x *examiner) states() {
	there, waits := map[string]bool{}, map[string]bool{}
	var names []string
	for _, s := range x.res.States {
		there[s.ID] = true
		names = append(names, strings.TrimPrefix(s.ID, x.prefix))
	}
	for _, h := range x.res.Deferred {
		waits[h.ID] = true
		names = append(names, strings.TrimPrefix(h.ID, x.prefix))
	}
	is := func(in map[string]bool, w source.Want) bool { return in[w.Text] || in[x.prefix+w.Text] }
	for _, want := range x.expect.States {
		switch {
		case is(waits, want):
			x.failf(want, "State is deferred",
				"%s waits for the result of a command. Expect it in deferred, or set the result in outputs.", want.Text)
		case !is(there, want):
			x.failf(want, "State is missing", "There is no state %s.%s", want.Text, syntax.Suggest(want.Text, names))
		}
	}
	for _, want := range x.expect.Held {
		switch {
		case is(there, want):
			x.failf(want, "State is not deferred", "%s waits for no command: its steps are in the list.", want.Text)
		case !is(waits, want):
			x.failf(want, "State is missing", "There is no state %s.%s", want.Text, syntax.Suggest(want.Text, names))
		}
	}
	for _, never := range x.expect.NoStates {
		if is(there, never) || is(waits, never) {
			x.failf(never, "Unexpected state", "The test expects no state %s, but it exists.", never.Text)
		}
	}
}

func (x *examiner) steps() {
	for _, want := range x.expect.Steps {
		if x.find(want.Text, 0) < 0 {
			x.failf(want, "Step is missing", "No step is %s.%s", want.Text, x.nearest(want.Text))
		}
	}
	for _, never := range x.expect.NoSteps {
		if i := x.find(never.Text, 0); i >= 0 {
			x.failf(never, "Unexpected step", "The list contains the step %s, but the test expects no step like %s.",
				x.res.List[i], never.Text)
		}
	}
}

func (x *examiner) order() {
	at := 0
	for k, want := range x.expect.Order {
		i := x.find(want.Text, at)
		if i < 0 && x.find(want.Text, 0) >= 0 {
			x.failf(want, "Different order", "The step %s is before %s.", want.Text, x.expect.Order[k-1].Text)
			return
		}
		if i < 0 {
			x.failf(want, "Step is missing", "No step is %s.%s", want.Text, x.nearest(want.Text))
			return
		}
		at = i + 1
	}
}

// find returns the first step from an index on that a pattern matches, -1 for none.
func (x *examiner) find(pattern string, from int) int {
	parts := strings.Split(pattern, "*")
	for i, p := range parts {
		parts[i] = regexp.QuoteMeta(p)
	}
	re := regexp.MustCompile(`(?s)\A` + strings.Join(parts, ".*") + `\z`)
	for i := from; i < len(x.res.List); i++ {
		if re.MatchString(x.res.List[i].String()) {
			return i
		}
	}
	return -1
}

// nearest suggests a step with the same address, or with the same verb.
func (x *examiner) nearest(pattern string) string {
	word, rest, _ := strings.Cut(pattern, " ")
	var same []string
	for _, s := range x.res.List {
		if strings.HasPrefix(s.String(), word+" ") {
			same = append(same, s.String())
		}
	}
	if near := syntax.Suggest(pattern, same); near != "" && len(same) < 6 {
		return near
	}
	for _, s := range same {
		if f := strings.Fields(rest); len(f) > 0 && strings.Contains(s, f[0]) {
			return fmt.Sprintf(" The list contains: %s.", s)
		}
	}
	return fmt.Sprintf(" The list contains %d steps with %s.", len(same), word)
}
