package plan

import (
	"errors"
	"testing"

	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
)

// TestOnlyManagedAgain: a rollback manages a path again without a change if the path was changed outside
// of runs, and by no run.
func TestOnlyManagedAgain(t *testing.T) {
	for what, c := range map[string]struct {
		change func(m *maker)
		want   bool
	}{
		"changed outside of runs": {func(*maker) {}, true},
		"as its step wants it":    {func(m *maker) { m.is("/d/f", image.Absent) }, false},
		"cannot be observed": {func(m *maker) {
			m.is("/d/f", image.Absent).in.Failed["file:/d/f"] = errors.New("x")
		}, true},
		"not a rollback":         {func(m *maker) { m.in.Goal = nil }, false},
		"changed by a run":       {func(m *maker) { m.in.Goal.ImagesBefore["file:/d/f"] = *pathOf(image.Absent) }, false},
		"below a restored tree":  {func(m *maker) { m.trees["/d"] = "t" }, false},
		"below a new directory":  {func(m *maker) { m.in.Goal.FilesBefore["/d"] = image.File{Type: image.Absent} }, false},
		"below a directory":      {func(m *maker) { m.in.Goal.FilesBefore["/d"] = image.File{Type: image.Directory} }, true},
		"a package is installed": {func(m *maker) { m.installs = true }, false},
		"of others": {func(m *maker) {
			m.installs, m.in.Goal.Unmanaged = true, map[string]bool{"/d/f": true}
		}, true},
	} {
		m := planner("RM /d/f").rollsBack().is("/d/f", image.Regular)
		m.in.Rules = fixed{}
		c.change(m)
		if got := m.onlyManages(m.in.Desired[0]); got != c.want {
			t.Errorf("%s: %t", what, got)
		}
	}
	m := planner("RM /d/f", "PKG db").rollsBack().is("/d/f", image.Regular)
	m.in.Rules = fixed{}
	if m.onlyManages(m.in.Desired[1]) {
		t.Error("a package is not a path")
	}
}

// TestReleasedPaths: a path that is only managed again is in the plan without a change of the path, with
// the observed image if no entry has it.
func TestReleasedPaths(t *testing.T) {
	m := planner("RM /d/f").rollsBack().is("/d/f", image.Regular)
	m.in.Rules = fixed{}
	if !m.restoration.released(m.in.Desired[0], "") || len(m.p.Changes) != 1 {
		t.Fatalf("%+v", m.p.Changes)
	}
	if c := m.p.Changes[0]; c.Action != Adopt || c.Addr != "file:/d/f" || !c.ChangedByOthers || c.From == nil ||
		!c.Applied.IsZero() {
		t.Errorf("%+v", c)
	}
	m = planner("RM /d/f").rollsBack().is("/d/f", image.Regular)
	m.in.Rules, m.now["file:/d/f"] = fixed{}, entryOf("RM /d/f", nil)
	if !m.restoration.released(m.in.Desired[0], "") || len(m.p.Changes) != 1 {
		t.Fatalf("applied: %+v", m.p.Changes)
	}
	if c := m.p.Changes[0]; c.ChangedByOthers || c.From != nil || c.Applied.String() != "RM /d/f" {
		t.Errorf("applied: %+v", c)
	}
	m = planner("RM /d/f").rollsBack().is("/d/f", image.Absent)
	m.in.Rules = fixed{}
	if m.restoration.released(m.in.Desired[0], "") || len(m.p.Changes) != 0 {
		t.Errorf("as its step wants it: %+v", m.p.Changes)
	}
}

// TestPurgedPathsOfOthers: a rollback does not remove an object from a path that was purged, and that no run has
// changed since. It manages the path again only if it is managed now.
func TestPurgedPathsOfOthers(t *testing.T) {
	for what, c := range map[string]struct {
		change  func(m *maker)
		givesUp bool
		planned Action
	}{
		"not managed": {func(*maker) {}, true, ""},
		"managed now": {func(m *maker) { m.now["file:/d/f"] = entryOf("MKDIR /d/f", nil) }, false, Adopt},
		"absent":      {func(m *maker) { m.is("/d/f", image.Absent) }, false, Adopt},
		"changed by a run": {func(m *maker) {
			m.in.Goal.FilesBefore["/d/f"] = image.File{Type: image.Absent}
		}, false, Restore},
		"released and changed": {func(m *maker) {
			m.is("/d/f", image.Absent).in.Goal.Unmanaged = map[string]bool{"/d/f": true}
		}, true, ""},
	} {
		m := planner("MKDIR /d purge=true").rollsBack().is("/d/f", image.Directory)
		e := entryOf("RM /d/f", pathOf(image.Directory))
		e.PurgedBy = "file:/d"
		m.in.Rules, m.in.Goal.Entries, m.in.Desired = fixed{}, []journal.Entry{e}, nil
		c.change(m)
		if got := m.restoration.givesUp(e); got != c.givesUp {
			t.Errorf("%s: gives up: %t", what, got)
		}
		m.steps()
		var got Action
		for _, c := range m.p.Changes {
			if got = c.Action; c.PurgedBy != "file:/d" {
				t.Errorf("%s: %+v", what, c)
			}
		}
		if got != c.planned {
			t.Errorf("%s: %q", what, got)
		}
	}
}

// TestDirectoriesOfAGoal: a rollback creates a directory with the owner and mode that the entry of the
// goal found: adopted, or before its step. It needs neither for a directory that exists.
func TestDirectoriesOfAGoal(t *testing.T) {
	dir, file, absent := pathOf(image.Directory), pathOf(image.Regular), *pathOf(image.Absent)
	with := func(adopted, origin *image.Image) []journal.Entry {
		e := entryOf("MKDIR /d", origin)
		e.Adopted = adopted
		return []journal.Entry{entryOf("MKDIR /other", dir), e}
	}
	for what, c := range map[string]struct {
		line    string
		now     image.Image
		entries []journal.Entry
		want    bool
	}{
		"adopted":             {"MKDIR /d", absent, with(dir, nil), true},
		"found by its step":   {"MKDIR /d", absent, with(nil, dir), true},
		"a file was there":    {"MKDIR /d", absent, with(file, file), false},
		"nothing was there":   {"MKDIR /d", absent, with(nil, nil), false},
		"a package was there": {"MKDIR /d", absent, with(packageIs("1", "ii"), nil), false},
		"it exists":           {"MKDIR /d", *dir, with(dir, nil), false},
		"another step":        {"RM /d", absent, with(dir, nil), false},
		"not in the goal":     {"MKDIR /d", absent, nil, false},
	} {
		m := planner(c.line).rollsBack()
		m.in.Rules = fixed{}
		m.returnsTo(c.entries)
		if got := m.directoryThen(m.in.Desired[0], c.now); (got != nil) != c.want {
			t.Errorf("%s: %+v", what, got)
		}
	}
	m := planner("MKDIR /d")
	m.in.Rules = fixed{}
	if got := m.directoryThen(m.in.Desired[0], absent); got != nil {
		t.Errorf("not a rollback: %+v", got)
	}
}
