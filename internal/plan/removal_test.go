package plan

import (
	"strings"
	"testing"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
)

// TestPartsOfPurgedFiles: a part that was created after a purge removed its file goes with the restored
// file.
func TestPartsOfPurgedFiles(t *testing.T) {
	for what, c := range map[string]struct {
		line   string
		change func(m *maker, f *journal.Entry)
		want   bool
	}{
		"a part":                 {"EDIT /d/f line=x", func(*maker, *journal.Entry) {}, true},
		"metadata":               {"META /d/f mode=0600", func(*maker, *journal.Entry) {}, true},
		"the file":               {"RM /d/f", func(*maker, *journal.Entry) {}, false},
		"an earlier part":        {"EDIT /d/f line=x", func(_ *maker, f *journal.Entry) { f.FirstRun = 2 }, false},
		"a file of its own step": {"EDIT /d/f line=x", func(_ *maker, f *journal.Entry) { f.PurgedBy = "" }, false},
		"a file that is not put": {"EDIT /d/f line=x", func(m *maker, _ *journal.Entry) {
			m.changed["file:/d/f"] = false
		}, false},
		"a part of another file ": {"EDIT /d/g line=x", func(*maker, *journal.Entry) {}, false},
	} {
		m := planner()
		f := entryOf("RM /d/f", pathOf(image.Regular))
		f.PurgedBy, m.changed["file:/d/f"] = "file:/d", true
		c.change(m, &f)
		m.now[f.Addr] = f
		if got := m.removals.madeAfterPurge(entryOf(c.line, nil)); got != c.want {
			t.Errorf("%s: %t", what, got)
		}
	}
}

// TestDirectoriesWithOthers: a directory that is removed contains others unless this plan removes
// everything in it.
func TestDirectoriesWithOthers(t *testing.T) {
	dir := image.Of(&image.File{Type: image.Directory, Entries: []string{"a", "b"}})
	for what, c := range map[string]struct {
		now    image.Image
		change func(m *maker)
		want   bool
	}{
		"nothing is removed": {dir, func(*maker) {}, true},
		"one is removed":     {dir, func(m *maker) { m.changed["file:/d/a"] = true }, true},
		"both are removed": {dir, func(m *maker) {
			m.changed["file:/d/a"], m.changed["file:/d/b"] = true, true
		}, false},
		"one with its last part": {dir, func(m *maker) { m.changed["file:/d/a"], m.going["/d/b"] = true, true }, false},
		"one keeps others": {dir, func(m *maker) {
			m.changed["file:/d/a"], m.changed["file:/d/b"], m.remain["/d/b"] = true, true, true
		}, true},
		"an empty directory": {*pathOf(image.Directory), func(*maker) {}, false},
		"a file returns":     {*pathOf(image.Directory), func(m *maker) { m.leaves["/d/c"] = image.Regular }, true},
		"a file goes":        {*pathOf(image.Directory), func(m *maker) { m.leaves["/d/c"] = image.Absent }, false},
		"a file deeper in it": {*pathOf(image.Directory), func(m *maker) {
			m.leaves["/d/c/e"] = image.Regular
		}, false},
		"a file": {image.Of(&image.File{Type: image.Regular, Entries: []string{"a"}}), func(*maker) {},
			false},
		"a package": {*packageIs("1", "ii"), func(*maker) {}, false},
	} {
		m := planner()
		c.change(m)
		if got := m.holdsOthers("/d", c.now); got != c.want {
			t.Errorf("%s: %t", what, got)
		}
	}
}

// TestReasonToStay: an address that fettle found in sync stays, with the reason: fettle may have created
// it only if it installed a package or ran a command before.
func TestReasonToStay(t *testing.T) {
	const before, unchanged, tree = "it was like this before fettle", "fettle did not change it",
		"with a directory above it"
	first := func(line string, origin *image.Image, run int) journal.Entry {
		e := entryOf(line, origin)
		e.FirstRun = run
		return e
	}
	adopted := first("RM /d/f", nil, 2)
	adopted.Adopted = pathOf(image.Absent)
	removed := new(image.Of(&image.File{Type: image.Directory, Tree: "t"}))
	for what, c := range map[string]struct {
		e       journal.Entry
		applied journal.Entry
		want    string
	}{
		"alone":                      {adopted, adopted, before},
		"after a new package":        {adopted, first("PKG web", packageIs("", ""), 1), unchanged},
		"with a new package":         {adopted, first("PKG web", packageIs("", ""), 2), unchanged},
		"before a new package":       {adopted, first("PKG web", packageIs("", ""), 3), before},
		"after another version":      {adopted, first("PKG web", packageIs("1", "ii"), 1), before},
		"after an adopted package":   {adopted, first("PKG web", nil, 1), before},
		"after a command":            {adopted, first("EXEC x /bin/true", nil, 1), unchanged},
		"after a file":               {adopted, first("RM /g", pathOf(image.Regular), 1), before},
		"below a removed directory":  {adopted, first("RM /d", removed, 1), tree},
		"beside a removed directory": {adopted, first("RM /e", removed, 1), before},
		"below, but it was there":    {first("RM /d/f", nil, 2), first("RM /d", removed, 1), before},
		"below an empty directory":   {adopted, first("RM /d", pathOf(image.Directory), 1), before},
	} {
		m := planner()
		m.in.Applied.Entries = []journal.Entry{c.applied}
		m.now[c.applied.Addr] = c.applied
		if got := m.removals.untouchedSince(c.e); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
}

// TestRestoredAlready: an image is restored if it is the same, with the modification time of the content
// if that is known. The time of a directory depends on its entries and does not count.
func TestRestoredAlready(t *testing.T) {
	at := func(t image.FileType, mtime int64) image.Image {
		return image.Of(&image.File{Type: t, MTime: mtime})
	}
	for what, c := range map[string]struct {
		now, then image.Image
		want      bool
	}{
		"the same":              {at(image.Regular, 1), at(image.Regular, 1), true},
		"another time":          {at(image.Regular, 2), at(image.Regular, 1), false},
		"an unknown time":       {at(image.Regular, 2), at(image.Regular, 0), true},
		"a directory":           {at(image.Directory, 2), at(image.Directory, 1), true},
		"another type":          {at(image.Regular, 1), at(image.Directory, 1), false},
		"a package":             {*packageIs("1", "ii"), *packageIs("1", "ii"), true},
		"another package":       {*packageIs("2", "ii"), *packageIs("1", "ii"), false},
		"a package, and a file": {*packageIs("2", "ii"), at(image.Regular, 1), false},
	} {
		if got := putBack(c.now, c.then); got != c.want {
			t.Errorf("%s: %t", what, got)
		}
	}
}

// TestPurgedEntries: a directory with purge loses the entries that no step writes. Without a repair, new
// entries of an applied directory are drift.
func TestPurgedEntries(t *testing.T) {
	const line = "MKDIR /d purge=true"
	now := image.Of(&image.File{Type: image.Directory, Entries: []string{"mine", "other", "gone", "listed"}})
	for what, c := range map[string]struct {
		line   string
		now    image.Image
		change func(m *maker)
		want   string
	}{
		"new":             {line, now, func(*maker) {}, "purge /d/other"},
		"without purge":   {"MKDIR /d", now, func(*maker) {}, ""},
		"in a rollback":   {line, now, func(m *maker) { m.rollsBack() }, ""},
		"not a directory": {line, *packageIs("1", "ii"), func(*maker) {}, ""},
		"applied":         {line, now, func(m *maker) { m.now["file:/d"] = entryOf(line, nil) }, "drift /d/other"},
		"repaired": {line, now, func(m *maker) { m.now["file:/d"], m.in.Repair = entryOf(line, nil), true },
			"purge /d/other"},
		"changed step": {line, now, func(m *maker) { m.now["file:/d"] = entryOf("MKDIR /d", nil) }, "purge /d/other"},
	} {
		m := planner(c.line, "EDIT /d/mine line=x")
		m.changed["file:/d/gone"], m.wanted["file:/d/listed"] = true, true
		c.change(m)
		m.restoration.purge(m.in.Desired[0], c.now)
		var got []string
		for _, p := range m.p.Changes {
			got = append(got, string(p.Action)+" "+p.Addr.Path())
			if p.PurgedBy != addr.File("/d") || p.Drifted != (p.Action == Drift) {
				t.Errorf("%s: %+v", what, p)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
}

// TestObjectsAtForbiddenPaths: an object at a path that must be absent belongs to others. It stays if the path
// leaves the list, unless something else was there before fettle, or the list purges the directory.
func TestObjectsAtForbiddenPaths(t *testing.T) {
	for what, c := range map[string]struct {
		line        string
		now, origin image.FileType
		wanted      []string
		want        Action
	}{
		"a file":              {"RM /d/f", image.Regular, image.Absent, nil, Forget},
		"a directory":         {"RM /d/f", image.Directory, image.Absent, nil, Forget},
		"nothing":             {"RM /d/f", image.Absent, image.Absent, nil, Forget},
		"a purged directory":  {"RM /d/f", image.Regular, image.Absent, []string{"MKDIR /d purge=true"}, Purge},
		"a kept directory":    {"RM /d/f", image.Regular, image.Absent, []string{"MKDIR /d"}, Forget},
		"it was a link":       {"RM /d/f", image.Regular, image.Symlink, nil, Remove},
		"a file of fettle":    {"COPY 1 /d/f", image.Regular, image.Absent, nil, Remove},
		"a directory of ours": {"MKDIR /d/f", image.Directory, image.Absent, nil, Remove},
	} {
		m := planner(c.wanted...).is("/d/f", c.now)
		m.in.Rules = fixed{}
		e := entryOf(c.line, pathOf(c.origin))
		m.removals.revert(Change{Action: Remove, Addr: e.Addr, Applied: e.Step}, e)
		if len(m.p.Changes) != 1 || m.p.Changes[0].Action != c.want {
			t.Errorf("%s: %+v", what, m.p.Changes)
		}
	}
}
