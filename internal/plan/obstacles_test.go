package plan

import (
	"errors"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
)

// TestOccupied: what is in the way of a path that comes back.
func TestOccupied(t *testing.T) {
	full := new(image.Of(&image.File{Type: image.Directory, Entries: []string{"ours", "foreign"}}))
	ours := new(image.Of(&image.File{Type: image.Directory, Entries: []string{"ours"}}))
	file, absentPath := pathOf(image.Regular), pathOf(image.Absent)
	purge := Change{Action: Purge, Addr: "file:/purged", From: file, To: absentPath}
	for what, c := range map[string]struct {
		path     string
		from, to *image.Image
		want     string
	}{
		"nothing is in the way":        {"/d/f", absentPath, file, ""},
		"a directory of others":        {"/d/f", full, file, `such as "foreign"`},
		"our directory":                {"/d/f", ours, file, ""},
		"a directory stays":            {"/d/f", full, pathOf(image.Directory), ""},
		"a file":                       {"/d/f", file, file, ""},
		"it goes":                      {"/gone/f", full, absentPath, ""},
		"unknown later":                {"/gone/f", full, nil, ""},
		"a package":                    {"/gone/f", packageIs("1", "ii"), packageIs("2", "ii"), ""},
		"unknown before":               {"/d/f", &image.Image{}, file, ""},
		"no directory":                 {"/gone/f", absentPath, file, `the directory "/gone" does not exist`},
		"no directory far above":       {"/gone/a/b", absentPath, file, `the directory "/gone" does not exist`},
		"a file above":                 {"/file/f", absentPath, file, `"/file" is not a directory`},
		"the directory changes before": {"/changes/f", absentPath, file, ""},
		"a step makes the directory":   {"/made/f", absentPath, file, ""},
		"an unknown directory":         {"/unknown/f", absentPath, file, ""},
		"the directory is purged":      {"/purged/f", absentPath, file, `this run removes "/purged"`},
	} {
		m := planner("MKDIR /made").is("/d", image.Directory).is("/gone", image.Absent).is("/file", image.Regular)
		m.is("/changes", image.Absent).is("/made", image.Absent)
		m.is("/purged", image.Regular).add(purge)
		m.changed["file:/changes"], m.changed["file:/d/f/ours"] = true, true
		err := m.occupied(Change{Action: Remove, Addr: addr.File(c.path), From: c.from, To: c.to})
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestPrevented: a rollback refuses what the run cannot perform; a list declares its directories itself.
func TestPrevented(t *testing.T) {
	back := Change{Action: Update, Addr: "file:/gone/f", From: pathOf(image.Absent), To: pathOf(image.Regular)}
	linked := Change{Action: Update, Addr: "file:/f", From: linkedFile(2), To: pathOf(image.Regular)}
	m := planner().is("/gone", image.Absent)
	if err := m.prevented(back); err != nil {
		t.Errorf("a list: %v", err)
	}
	if m.prevented(linked) == nil {
		t.Error("a list parts a file from its links")
	}
	if m.rollsBack(); m.prevented(back) == nil || m.prevented(linked) == nil {
		t.Error("a rollback to a path without its directory, or of a linked file")
	}
}

// TestForeign: directories with files of others are neither replaced nor restored as a whole.
func TestForeign(t *testing.T) {
	m := planner().rollsBack()
	m.in.ForeignPaths = map[string]string{"/d": "notes"}
	for kind, refused := range map[image.FileType]bool{image.Absent: false, image.Directory: false, image.Regular: true,
		image.Symlink: true} {
		if err := m.lacks(image.File{Type: kind}, "/d"); (err != nil) != refused {
			t.Errorf("/d becomes %s: %v", kind, err)
		}
		if err := m.lacks(image.File{Type: kind}, "/e"); err != nil {
			t.Errorf("/e becomes %s: %v", kind, err)
		}
	}
	for dir, stuck := range map[string]bool{"/d": true, "/e": false, "": false} {
		if m.in.SkipBlocked = false; m.stuckWith(dir) != nil {
			t.Errorf("%q is stuck, and nothing may be left out", dir)
		}
		if m.in.SkipBlocked = true; (m.stuckWith(dir) != nil) != stuck {
			t.Errorf("%q: %v", dir, m.stuckWith(dir))
		}
	}
}

// TestPostponed: a directory that fettle made goes after the step that empties it.
func TestPostponed(t *testing.T) {
	absentDir := pathOf(image.Absent)
	for what, c := range map[string]struct {
		entry   journal.Entry
		wanted  []string
		prepare func(*maker)
		want    bool
	}{
		"a step empties it":   {entryOf("MKDIR /d", absentDir), []string{"RM /d/f"}, nil, true},
		"behind another step": {entryOf("MKDIR /d", absentDir), []string{"RM /e", "RM /d/f"}, nil, true},
		"it is empty": {entryOf("MKDIR /d", absentDir), []string{"RM /d/f"},
			func(m *maker) { m.is("/d/f", image.Absent) }, false},
		"nothing is known":        {entryOf("MKDIR /d", absentDir), []string{"RM /d/g"}, nil, false},
		"a step beside it":        {entryOf("MKDIR /d", absentDir), []string{"RM /dd/f"}, nil, false},
		"a step leaves something": {entryOf("MKDIR /d", absentDir), []string{"LINK /x /d/f"}, nil, false},
		"a directory of others":   {entryOf("MKDIR /d", pathOf(image.Directory)), []string{"RM /d/f"}, nil, false},
		"a part made by fettle":   {entryOf("MKDIR /d", absentDir), []string{"EDIT /d/f line=x ensure=absent"}, nil, true},
		"it changes": {entryOf("MKDIR /d", absentDir), []string{"RM /d/f"},
			func(m *maker) { m.changed["file:/d"] = true }, false},
		"metadata":       {entryOf("META /d mode=0700", absentDir), []string{"RM /d/f"}, nil, false},
		"no path before": {entryOf("MKDIR /d", packageIs("", "")), []string{"RM /d/f"}, nil, false},
	} {
		m := planner(c.wanted...).is("/d/f", image.Regular).is("/dd/f", image.Regular).is("/e", image.Regular).is("/d",
			image.Directory)
		m.in.Observed["edit:/d/f#line:x"] = *regionIs(true, false)
		m.now["edit:/d/f#line:x"] = entryOf("EDIT /d/f line=x", regionIs(false, true))
		if c.prepare != nil {
			c.prepare(m)
		}
		got := m.removals.postponed(c.entry)
		if got != c.want {
			t.Errorf("%s: %t", what, got)
			continue
		}
		if !got {
			continue
		}
		if !m.changed[c.entry.Addr] {
			t.Errorf("%s: something else may remove the directory", what)
		}
		m.in.Rules = fixed{}
		for range 2 {
			for _, s := range m.in.Desired {
				m.removals.emptied(s)
			}
		}
		if n := len(m.p.Changes); n != 1 || m.p.Changes[0].Action != Remove ||
			m.going["/d/f"] != strings.HasPrefix(c.wanted[0], "EDIT") {
			t.Errorf("%s: %d removals, %v", what, n, m.going)
		}
	}
}

// TestExact: a rollback restores the image that a run found if the step still asks for it.
func TestExact(t *testing.T) {
	then, to := *linkedRegion(1, "then"), *linkedRegion(1, "to")
	words := *linkedRegion(1, "then")
	words.Region().Encrypted = []byte{1}
	meta := func(mode uint32, kind image.FileType) image.Image {
		return image.Of(&image.File{Type: kind, Mode: mode, Digest: "sha256:now"})
	}
	now, to2, then3 := meta(1, image.Regular), meta(2, image.Regular), meta(3, image.Regular)
	purged := image.Of(&image.Package{Purged: true})
	for what, c := range map[string]struct {
		step          string
		now, to, then image.Image
		want          image.Image
	}{
		"a part":                   {"EDIT /f line=x", to, to, then, then},
		"a part with its words":    {"EDIT /f line=x", to, to, words, to},
		"a part of another kind":   {"EDIT /f line=x", to, to, *pathOf(image.Regular), to},
		"metadata":                 {"META /f mode=0600", now, to2, then3, then3},
		"metadata of another type": {"META /f mode=0600", now, to2, meta(3, image.Directory), to2},
		"metadata, unknown now": {"META /f mode=0600", image.Image{}, meta(2, image.Regular), meta(3, image.Regular),
			meta(2, image.Regular)},
		"metadata, unknown then": {"META /f mode=0600", meta(1, image.Regular), meta(2, image.Regular), image.Image{},
			meta(2, image.Regular)},
		"a purge": {"PKG web ensure=purged", purged, purged, *packageIs("1", "ii"), purged},
		"the step asks for it": {"PKG web", *packageIs("2", "ii"), *packageIs("2", "ii"), *packageIs("1", "ii"),
			*packageIs("1", "ii")},
		"it asks for another one": {"PKG other", *packageIs("2", "ii"), *packageIs("2", "ii"), *packageIs("1", "ii"),
			*packageIs("2", "ii")},
	} {
		m, s := planner(c.step).rollsBack(), parse(c.step)
		m.in.Rules = fixed{}
		m.in.Goal.ImagesBefore[s.Addr()] = c.then
		if got := m.exact(s, c.now, c.to); !got.Same(c.want) {
			t.Errorf("%s: %+v", what, got.Package())
		}
		delete(m.in.Goal.ImagesBefore, s.Addr())
		if got := m.exact(s, c.now, c.to); !got.Same(c.to) {
			t.Errorf("%s, and no run found it: %+v", what, got)
		}
	}
}

// TestMissingOf: the paths of a kept tree that come back.
func TestMissingOf(t *testing.T) {
	m := planner("MKDIR /d/wanted", "RM /gone")
	if got := m.restoration.missingOf("/d", "t"); got != nil {
		t.Errorf("a tree that is not known: %v", got)
	}
	m.in.StoredTree = func(string) []TreeFile {
		return []TreeFile{{Rel: "a"}, {Rel: "wanted"}, {Rel: "managed"}, {Rel: "never"}}
	}
	adopted := entryOf("RM /d/never", nil)
	adopted.Adopted = pathOf(image.Absent)
	m.now["file:/d/never"], m.now["file:/d/managed"] = adopted, entryOf("RM /d/managed", pathOf(image.Regular))
	got := m.restoration.missingOf("/d", "t")
	if len(got) != 2 || got[0].Rel != "a" || got[1].Rel != "never" {
		t.Errorf("%v come back", got)
	}
	if got := m.restoration.missingOf("/gone/d", "t"); len(got) != 4 {
		t.Errorf("below a path that goes: %v", got)
	}
	m.in.ForeignPaths = map[string]string{"/d/a": "theirs", "/gone/d/a": "theirs"}
	if got := m.restoration.missingOf("/gone/d", "t"); len(got) != 3 || got[0].Rel != "wanted" {
		t.Errorf("others have files there, and the directory goes: %v", got)
	}
	if got := m.restoration.missingOf("/d", "t"); len(got) != 2 {
		t.Errorf("others have files there: %v", got)
	}
	m.now["file:/gone"] = stored("RM /gone")[0]
	if got := m.restoration.missingOf("/gone/d", "t"); got != nil {
		t.Errorf("below a path that goes and is stored: %v", got)
	}
}

// TestInUse: a directory that fettle made stays while the list has something in it.
func TestInUse(t *testing.T) {
	gone := pathOf(image.Absent)
	for what, c := range map[string]struct {
		entry journal.Entry
		now   image.FileType // "" if unknown
		want  bool
	}{
		"made by fettle": {entryOf("MKDIR /d", gone), image.Directory, true},
		"of others":      {entryOf("MKDIR /d", pathOf(image.Directory)), image.Directory, false},
		"it is a file":   {entryOf("MKDIR /d", gone), image.Regular, false},
		"unknown":        {entryOf("MKDIR /d", gone), "", false},
		"empty":          {entryOf("MKDIR /e", gone), image.Directory, false},
		"no path before": {entryOf("MKDIR /d", packageIs("", "")), image.Directory, false},
		"metadata":       {entryOf("META /d mode=0700", gone), image.Directory, false},
	} {
		m := planner("RM /d/x", "MKDIR /d/f")
		if c.now != "" {
			m.in.Observed[c.entry.Addr] = *pathOf(c.now)
		}
		if got := m.removals.inUse(Change{Addr: c.entry.Addr}, c.entry); got != c.want || (len(m.p.Changes) == 1) != c.want {
			t.Errorf("%s: %t, %v", what, got, m.p.Changes)
		}
	}
}

// TestStays: an address that cannot be read stays in a list, and is an error in a rollback, with the line in force.
func TestStays(t *testing.T) {
	e := entryOf("MKDIR /d", pathOf(image.Absent))
	m := planner()
	m.in.Failed[e.Addr] = errors.New("cannot read it")
	if !m.removals.stays(Change{Addr: e.Addr, Applied: e.Step}, e) || len(m.p.Changes) != 1 ||
		m.p.Changes[0].Action != Blocked || !m.refusals.paths["/d"] {
		t.Errorf("in a list: %+v", m.p.Changes)
	}
	m.rollsBack()
	if !m.removals.stays(Change{Addr: e.Addr, Applied: e.Step}, e) || len(m.refusals.problems) != 1 ||
		m.refusals.problems[0].Line != e.Step.String() {
		t.Errorf("in a rollback: %+v", m.refusals.problems)
	}
}
