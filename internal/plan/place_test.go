package plan

import (
	"testing"

	"fettle.dev/fettle/internal/image"
)

// TestPlace: a list must have the directory of each path that it creates, or a step that can provide it.
func TestPlace(t *testing.T) {
	absent, file := pathOf(image.Absent), pathOf(image.Regular)
	create := Change{Action: Create, Addr: "file:/no/f", From: absent, To: file}
	edit := Change{Action: Create, Addr: "edit:/no/f#line:x", From: regionIs(false, true), To: regionIs(true, false)}
	here := Change{Action: Create, Addr: "file:/etc/f", From: absent, To: file}
	changed := Change{Action: Update, Addr: "file:/no/f", From: file, To: file}
	command := Change{Action: Run, Addr: "exec:x", Step: parse("EXEC x /bin/x")}
	sleep := Change{Action: Run, Addr: "exec:x", Step: parse("EXEC x /bin/sleep 1")}
	web := packageChange("web", packageIs("", ""), packageIs("1", "ii"))
	dir := Change{Action: Create, Addr: "file:/no", To: pathOf(image.Directory)}
	const none = `cannot write "/no/f": the directory "/no" does not exist. Declare it first: directory "/no" {}`
	const perhaps = "needs the path /no, which exec:x before it can provide"
	for what, c := range map[string]struct {
		change    Change
		before    []Change
		how, fail string
	}{
		"nothing provides it":            {create, nil, "", none},
		"nothing provides it to an edit": {edit, nil, "", none},
		"it exists":                      {here, nil, "", ""},
		"the path exists":                {changed, nil, "", ""},
		"a command":                      {create, []Change{command}, perhaps, ""},
		"a command before an edit":       {edit, []Change{command}, perhaps, ""},
		"a command that only waits":      {create, []Change{sleep}, "", none},
		"a condition of others":          {create, []Change{{Action: Wait, Addr: "wait:x"}}, "", ""},
		"a package":                      {create, []Change{web}, "", ""},
		"a directory":                    {create, []Change{dir}, "", ""},
		"a change at another path":       {create, []Change{{Action: Create, Addr: "file:/nor", To: file}}, "", none},
	} {
		m := planner()
		m.in.Absent = func(p string) bool { return p == "/no" }
		for _, b := range c.before {
			m.add(b)
		}
		how, err := m.place(parse("COPY a /no/f"), c.change)
		if how != c.how || (err == nil) != (c.fail == "") || err != nil && err.Error() != c.fail {
			t.Errorf("%s: %q, %v", what, how, err)
		}
	}
}

// TestPlaceOfARollback: a rollback has its own rules for directories.
func TestPlaceOfARollback(t *testing.T) {
	m := planner().rollsBack()
	m.in.Absent = func(string) bool { return true }
	c := Change{Action: Create, Addr: "file:/no/f", From: pathOf(image.Absent), To: pathOf(image.Regular)}
	if how, err := m.place(parse("COPY a /no/f"), c); how != "" || err != nil {
		t.Errorf("%q, %v", how, err)
	}
}
