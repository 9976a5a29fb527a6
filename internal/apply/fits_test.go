package apply

import (
	"strings"
	"testing"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
)

// TestFits: records that somebody wrote anew, with checksums that are right, are
// not acted upon where they say what a run never writes.
func TestFits(t *testing.T) {
	file := func(p string) *image.Image { return new(image.Of(&image.File{Type: image.Regular, Target: p})) }
	group, user := new(image.Of(&image.Group{})), new(image.Of(&image.User{}))
	p := &plan.Plan{Changes: []plan.Change{{Addr: "group:g"}, {Addr: "file:/a"}}}
	intent := func(a addr.Addr, from, to *image.Image) journal.Record {
		return journal.Record{Kind: journal.Intent, Addr: a, From: from, To: to}
	}
	move := func(path, temp string, from, to *image.Image) journal.Record {
		return journal.Record{Kind: journal.Move, Change: 1, Addr: "file:/a", Path: path, Temp: temp, From: from, To: to}
	}
	for _, c := range []struct {
		name, want string
		rec        journal.Record
	}{
		{"another kind of record", "", journal.Record{Kind: journal.Done, Change: 7}},
		{"before the first", "refers to change -1, and the plan has 2 changes",
			journal.Record{Kind: journal.Intent, Change: -1}},
		{"behind the last", "refers to change 2, and the plan has 2 changes",
			journal.Record{Kind: journal.Result, Change: 2}},
		{"a group", "", intent("group:g", group, group)},
		{"a home only", "", intent("user:u", nil, nil)},
		{"a group that becomes nothing", "changes group:g without both recorded states", intent("group:g", group, nil)},
		{"a member out of nothing", "without both recorded states",
			intent("member:a/b", nil, new(image.Of(&image.Member{})))},
		{"a user in the place of a group", "gives group:g a state of another kind", intent("group:g", group, user)},
		{"a file in the place of a user", "gives user:u a state of another kind", intent("user:u", file(""), user)},
		{"nothing in the place of a member", "a state of another kind", intent("member:a/b", &image.Image{}, &image.Image{})},
		{"a unit in the place of a package", "a state of another kind",
			journal.Record{Kind: journal.Result, Addr: "pkg:p", From: new(image.Of(&image.Unit{}))}},
		{"a package", "", journal.Record{Kind: journal.Result, Addr: "pkg:p", To: new(image.Of(&image.Package{}))}},
		{"a package in the place of a unit", "a state of another kind",
			journal.Record{Kind: journal.Result, Addr: "unit:u", From: new(image.Of(&image.Package{}))}},
		{"a user in the place of a setting", "a state of another kind", intent("sysctl:s", user, nil)},
		{"a move", "", move("/a", "/.fettle-1-1~", file(""), file(""))},
		{"a move from nothing", "moves a file without both recorded states", move("/a", "", nil, file(""))},
		{"a move of no file", "moves a file without both recorded states", move("/a", "", file(""), user)},
		{"a move of another", "and the plan has group:g",
			journal.Record{Kind: journal.Move, Addr: "file:/a", Path: "/a", From: file(""), To: file("")}},
		{"a path of two spellings", "which is not a clean absolute path", move("/b/../a", "", file(""), file(""))},
		{"no path", "which is not a clean absolute path", move("a", "", file(""), file(""))},
		{"a temporary that is theirs", "as a temporary file, and fettle gives no such name",
			move("/a", "/srv/theirs", file(""), file(""))},
	} {
		err := fits([]journal.Record{{Kind: journal.Begin}, c.rec}, p)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
