package plan

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/step"
)

// planner is a maker for these steps, before it plans the first one.
func planner(wanted ...string) *maker {
	in := Input{Observed: map[addr.Addr]image.Image{}, Failed: map[addr.Addr]error{}}
	for _, line := range wanted {
		in.Desired = append(in.Desired, parse(line))
	}
	m := newMaker(in)
	m.refusals.protect()
	return m
}

// is records what was observed at a path.
func (m *maker) is(p string, t image.FileType, entries ...string) *maker {
	m.in.Observed[addr.File(p)] = image.Of(&image.File{Type: t, Entries: entries})
	return m
}

// parse returns the step of a line.
func parse(line string) step.Step {
	s, err := step.ParseLine(line)
	if err != nil {
		panic(err)
	}
	return s
}

func entryOf(line string, origin *image.Image) journal.Entry {
	return journal.Entry{Addr: parse(line).Addr(), Step: parse(line), Origin: origin, Run: 1, FirstRun: 1}
}

func regionIs(present, noFile bool) *image.Image {
	return new(image.Of(&image.Region{Present: present, FileAbsent: noFile}))
}

// TestNotesOfAChange: what a change means for the changes after it.
func TestNotesOfAChange(t *testing.T) {
	tree := new(image.Of(&image.File{Type: image.Directory, Tree: "t"}))
	pkg, user := packageIs("1", "ii"), func(uid uint32) *image.Image {
		return new(image.Of(&image.User{Present: true, UID: uid}))
	}
	group := func(gid uint32, present bool) *image.Image {
		return new(image.Of(&image.Group{Present: present, GID: gid}))
	}
	for what, c := range map[string]struct {
		change Change
		want   string
	}{
		"nothing changes":       {Change{Action: Adopt, Addr: "pkg:web"}, ""},
		"a package":             {Change{Action: Create, Addr: "pkg:web", To: pkg}, "installs brings elsewhere"},
		"a package goes":        {Change{Action: Remove, Addr: "pkg:web"}, "elsewhere"},
		"a command":             {Change{Action: Run, Addr: "exec:x"}, "brings elsewhere"},
		"a file":                {Change{Action: Create, Addr: "file:/f", To: pathOf(image.Regular)}, ""},
		"metadata":              {Change{Action: Update, Addr: "meta:/f", To: pathOf(image.Regular)}, "redressed"},
		"a tree":                {Change{Action: Restore, Addr: "file:/f", To: tree}, "tree unlinks"},
		"a link that was there": {Change{Action: Update, Addr: "file:/link", To: pathOf(image.Regular)}, "relinked"},
		"a file that was there": {Change{Action: Update, Addr: "file:/file", To: pathOf(image.Regular)}, ""},
		"another number":        {Change{Action: Update, Addr: "user:u", From: user(1), To: user(2)}, "numbers elsewhere"},
		"the same number":       {Change{Action: Update, Addr: "user:u", From: user(1), To: user(1)}, "elsewhere"},
		"a new user": {Change{Action: Create, Addr: "user:u", From: new(image.Of(&image.User{})),
			To: user(2)}, "elsewhere"},
		"unknown users":         {Change{Action: Update, Addr: "user:u", To: user(2)}, "elsewhere"},
		"a user, unknown later": {Change{Action: Update, Addr: "user:u", From: user(1)}, "elsewhere"},
		"a group": {Change{Action: Update, Addr: "group:g", From: group(1, true), To: group(2, true)},
			"numbers elsewhere"},
		"the same group": {Change{Action: Update, Addr: "group:g", From: group(1, true), To: group(1, true)},
			"elsewhere"},
		"a new group": {Change{Action: Update, Addr: "group:g", From: group(0, false), To: group(2, true)},
			"elsewhere"},
		"a user and a group": {Change{Action: Update, Addr: "group:g", From: user(1), To: group(2, true)}, "elsewhere"},
		"a group and a user": {Change{Action: Update, Addr: "user:u", From: group(1, true), To: user(2)}, "elsewhere"},
		"names of a file": {Change{Action: Remove, Addr: "file:/f", From: linkedFile(2), To: pathOf(image.Absent)},
			"unlinks"},
		"a part without a tree":   {Change{Action: Update, Addr: "edit:/f#line:x", To: regionIs(true, false)}, ""},
		"a path, unknown later":   {Change{Action: Update, Addr: "file:/f"}, ""},
		"a setting of the kernel": {Change{Action: Update, Addr: "sysctl:x"}, "elsewhere"},
	} {
		m := planner().is("/link", image.Symlink).is("/file", image.Regular)
		m.add(c.change)
		var got []string
		for _, flag := range []struct {
			name string
			set  bool
		}{
			{"installs", m.installs}, {"brings", m.brings}, {"redressed", m.redressed}, {"tree", len(m.trees) > 0},
			{"unlinks", len(m.unlinks) > 0},
			{"relinked", m.relinked}, {"numbers", m.numbers[c.change.Addr]}, {"elsewhere", m.elsewhere},
		} {
			if flag.set {
				got = append(got, flag.name)
			}
		}
		if strings.Join(got, " ") != c.want || m.changed[c.change.Addr] != c.change.Action.Mutates() ||
			len(m.p.Changes) != 1 {
			t.Errorf("%s: %q", what, got)
		}
		m.add(Change{Action: Create, Addr: "file:/other", To: pathOf(image.Regular)})
		kept := map[string]bool{"installs": m.installs, "brings": m.brings, "redressed": m.redressed}
		if slices.ContainsFunc(slices.Collect(maps.Keys(kept)),
			func(f string) bool { return kept[f] != strings.Contains(c.want, f) }) {
			t.Errorf("%s is forgotten after the next change", what)
		}
	}
}

// TestLeftAtAPath: what a change leaves at its path, and whether everything below it goes too.
func TestLeftAtAPath(t *testing.T) {
	full := new(image.Of(&image.File{Type: image.Directory, Entries: []string{"foreign"}}))
	ours := new(image.Of(&image.File{Type: image.Directory, Entries: []string{"ours"}}))
	gone, present, missing := pathOf(image.Absent), regionIs(true, false), regionIs(false, true)
	part := func(action Action, p string, from, to *image.Image) Change {
		return Change{Action: action, Addr: addr.Addr("edit:" + p + "#line:x"), From: from, To: to}
	}
	for what, c := range map[string]struct {
		change Change
		left   image.FileType
		swept  bool
	}{
		"a directory": {Change{Action: Create, Addr: "file:/d", To: pathOf(image.Directory)}, image.Directory,
			false},
		"unknown":        {Change{Action: Create, Addr: "file:/d"}, image.Regular, false},
		"a step removes": {Change{Action: Update, Addr: "file:/d", From: full, To: gone}, image.Absent, true},
		"an empty directory": {Change{Action: Remove, Addr: "file:/d", From: pathOf(image.Directory), To: gone},
			image.Absent, false},
		"our directory":         {Change{Action: Remove, Addr: "file:/d", From: ours, To: gone}, image.Absent, false},
		"a directory of others": {Change{Action: Remove, Addr: "file:/d", From: full, To: gone}, image.Directory, false},
		"it becomes a file": {Change{Action: Remove, Addr: "file:/d", From: full, To: pathOf(image.Regular)},
			image.Regular, false},
		"a file goes": {Change{Action: Remove, Addr: "file:/d", From: linkedFile(1), To: gone}, image.Absent,
			false},
		"unknown before":          {Change{Action: Remove, Addr: "file:/d", To: gone}, image.Absent, false},
		"a part and its file":     {part(Remove, "/d", present, missing), image.Absent, false},
		"a step of a part":        {part(Update, "/d", present, missing), image.Absent, true},
		"a part, its file stays":  {part(Remove, "/d", present, regionIs(false, false)), image.Regular, false},
		"a part comes":            {part(Update, "/d", missing, regionIs(true, true)), image.Regular, false},
		"a part of a shared file": {part(Remove, "/shared", present, missing), image.Regular, false},
	} {
		m := planner("EDIT /shared line=y")
		m.now["edit:/shared#line:y"] = entryOf("EDIT /shared line=y", nil)
		m.now["edit:/d#line:y"] = entryOf("EDIT /d line=y", nil)
		m.changed["file:/d/ours"] = true
		m.noteLeft(c.change)
		if p := c.change.Addr.Path(); m.leaves[p] != c.left || m.swept[p] != c.swept || m.elsewhere {
			t.Errorf("%s: %q, swept %t", what, m.leaves[p], m.swept[p])
		}
	}
}

// TestPartsOfChangedPaths: a step of a part of a file, after this plan has changed the path of the file.
func TestPartsOfChangedPaths(t *testing.T) {
	const edit, meta, file = "EDIT /a/f line=x", "META /a/f mode=0600", "MKDIR /a/f"
	absentFile, present, noFile := *pathOf(image.Absent), *regionIs(false, false), *regionIs(false, true)
	leaves := func(t image.FileType) func(*maker) { return func(m *maker) { m.leaves["/a/f"] = t } }
	for what, c := range map[string]struct {
		step      string
		prepare   func(*maker)
		now       image.Image
		removed   bool
		canBring  bool
		unwelcome string // the error of uneditable
	}{
		"nothing changed":       {edit, func(*maker) {}, noFile, false, false, ""},
		"metadata of nothing":   {meta, func(*maker) {}, absentFile, false, false, ""},
		"a directory":           {file, leaves(image.Absent), absentFile, false, true, ""},
		"it is there":           {edit, func(*maker) {}, present, false, true, ""},
		"metadata, it is there": {meta, func(*maker) {}, *pathOf(image.Regular), false, true, ""},
		"something else runs":   {edit, func(m *maker) { m.elsewhere = true }, noFile, false, true, ""},
		"a tree above":          {edit, func(m *maker) { m.trees["/a"] = "t" }, noFile, false, true, ""},
		"a directory in a tree": {edit, func(m *maker) {
			m.trees["/a"], m.changed["file:/a"] = "t", true
			m.in.StoredTree = func(string) []TreeFile { return []TreeFile{{"f", image.File{Type: image.Directory}}} }
		}, noFile, false, true, "before fettle"},
		"a link above": {edit, func(m *maker) {
			m.is("/a", image.Symlink).changed["file:/a"], m.relinked = true, true
		}, noFile, false, true, ""},
		"its file comes":     {edit, leaves(image.Regular), noFile, false, true, ""},
		"its file goes":      {edit, leaves(image.Absent), noFile, true, false, ""},
		"metadata, it goes":  {meta, leaves(image.Absent), absentFile, true, false, ""},
		"a link comes":       {edit, leaves(image.Symlink), noFile, true, false, "before fettle"},
		"metadata of a link": {meta, leaves(image.Symlink), absentFile, false, true, ""},
		"a directory comes":  {edit, leaves(image.Directory), noFile, true, false, "before fettle"},
		"a directory stays": {edit, func(m *maker) {
			m.leaves["/a/f"], m.now["file:/a/f"] = image.Directory, entryOf("MKDIR /a/f", pathOf(image.Absent))
		}, noFile, true, false, "contains other files"},
		"the directory above goes": {edit, func(m *maker) { m.swept["/a"] = true }, noFile, true, false, ""},
		"a rollback": {edit, func(m *maker) {
			m.leaves["/a/f"], m.in.Goal = image.Symlink, &Goal{}
		}, noFile, false, false, ""},
	} {
		m := planner(c.step)
		m.now["file:/a/f"] = entryOf("MKDIR /a/f", pathOf(image.Directory))
		c.prepare(m)
		s := parse(c.step)
		err := m.uneditable(s)
		refused := err != nil && c.unwelcome != "" && strings.Contains(err.Error(), c.unwelcome)
		if m.removed(s) != c.removed || m.canBring(s, c.now) != c.canBring || (err != nil || c.unwelcome != "") != refused {
			t.Errorf("%s: removed %t, can bring %t, %v", what, m.removed(s), m.canBring(s, c.now), err)
		}
	}
	if err := orRemoved(errors.New("missing"), true); err == nil || !strings.Contains(err.Error(), "it exists now") {
		t.Errorf("an error about a file that goes: %v", err)
	}
}

// TestTypeAfter: the type of a path after the removal of an entry.
func TestTypeAfter(t *testing.T) {
	found := func(p string, f image.File) *Goal { return &Goal{FilesBefore: map[string]image.File{p: f}} }
	wasAbsent, deeper := entryOf("MKDIR /d", pathOf(image.Absent)), entryOf("MKDIR /d/e", pathOf(image.Absent))
	link := image.File{Type: image.Symlink}
	for what, c := range map[string]struct {
		entry journal.Entry
		goal  *Goal
		want  image.FileType
		known bool
	}{
		"it was absent":         {wasAbsent, nil, image.Absent, true},
		"it was a file":         {entryOf("MKDIR /d", pathOf(image.Regular)), nil, image.Regular, true},
		"it was adopted":        {entryOf("MKDIR /d", nil), nil, "", false},
		"a part made its file":  {entryOf("EDIT /d line=x", regionIs(false, true)), nil, image.Absent, true},
		"a part of a file":      {entryOf("EDIT /d line=x", regionIs(false, false)), nil, "", false},
		"a package":             {entryOf("PKG web", packageIs("", "")), nil, "", false},
		"a unit with a file":    {entryOf("UNIT u.service enabled=true", pathOf(image.Absent)), nil, "", false},
		"a rollback":            {wasAbsent, found("/d", link), image.Symlink, true},
		"a rollback of a tree":  {deeper, found("/d", image.File{Type: image.Directory, Tree: "t"}), "", false},
		"a rollback, elsewhere": {wasAbsent, found("/e", link), image.Absent, true},
	} {
		m := planner()
		m.in.Goal = c.goal
		to, known := m.removals.typeAfter(c.entry)
		if known != c.known || to != c.want {
			t.Errorf("%s: %q, %t", what, to, known)
		}
		if m.removals.vanishes(c.entry) != (known && to == image.Absent) ||
			m.removals.ends(c.entry) != (known && to != image.Directory) {
			t.Errorf("%s: vanishes %t, ends %t", what, m.removals.vanishes(c.entry), m.removals.ends(c.entry))
		}
	}
}

// TestPartsOfAFileThatGoes: another absent part does not need the directory of a file that goes with its last part.
func TestPartsOfAFileThatGoes(t *testing.T) {
	for made, needs := range map[bool]bool{true: false, false: true} {
		m := planner("EDIT /d/f line=x ensure=absent", "EDIT /d/f line=y ensure=absent")
		m.now["edit:/d/f#line:x"] = entryOf("EDIT /d/f line=x", regionIs(false, made))
		m.in.Observed["edit:/d/f#line:x"] = *regionIs(true, false)
		m.in.Observed["edit:/d/f#line:y"] = *regionIs(false, false)
		if got := m.removals.needsDirectory(m.in.Desired[1]); got != needs {
			t.Errorf("made by fettle %t: needed %t", made, got)
		}
	}
}

// TestTakesMade: the removal of a part removes its file if an edit of fettle made the file.
func TestTakesMade(t *testing.T) {
	const gone = "EDIT /d/f line=x ensure=absent"
	made := entryOf("EDIT /d/f line=x", regionIs(false, true))
	for what, c := range map[string]struct {
		step  string
		entry journal.Entry
		now   *image.Region
		goal  *Goal
		takes bool
		needs bool // the step needs its directory
	}{
		"made by fettle": {gone, made, &image.Region{Present: true}, nil, true, false},
		"in a rollback":  {gone, made, &image.Region{Present: true}, &Goal{}, false, true},
		"it stays":       {"EDIT /d/f line=x", made, &image.Region{Present: true}, nil, false, true},
		"not there":      {gone, made, &image.Region{}, nil, false, true},
		"no file":        {gone, made, &image.Region{FileAbsent: true}, nil, false, false},
		"unknown":        {gone, made, nil, nil, false, true},
		"made by others": {gone, entryOf("EDIT /d/f line=x", regionIs(false, false)), &image.Region{Present: true}, nil,
			false, true},
		"adopted": {gone, entryOf("EDIT /d/f line=x", nil), &image.Region{Present: true}, nil, false, true},
		"of another origin": {gone, entryOf("EDIT /d/f line=x", pathOf(image.Absent)), &image.Region{Present: true}, nil,
			false, true},
		"a path that goes": {"RM /d/f", made, nil, nil, false, false},
		"a path":           {"MKDIR /d/f", made, nil, nil, false, true},
	} {
		m := planner(c.step)
		s := parse(c.step)
		m.now[s.Addr()], m.in.Goal = c.entry, c.goal
		m.in.Observed[s.Addr()] = image.Of(c.now)
		if m.takesMade(s) != c.takes || m.removals.needsDirectory(s) != c.needs {
			t.Errorf("%s: takes %t, needs %t", what, m.takesMade(s), m.removals.needsDirectory(s))
		}
		if got := len(m.removals.wantedIn("/d")) == 1; got != c.needs || len(m.removals.wantedIn("/other")) > 0 {
			t.Errorf("%s: the directory is needed: %t", what, got)
		}
	}
}

// TestMakesFile: a region whose file comes again needs the directory of the file.
func TestMakesFile(t *testing.T) {
	none := &image.Image{}
	for what, c := range map[string]struct {
		from, to *image.Image
		want     bool
	}{
		"it comes again":  {regionIs(false, true), regionIs(true, false), true},
		"its file exists": {regionIs(false, false), regionIs(true, false), false},
		"it stays away":   {regionIs(false, true), regionIs(false, true), false},
		"unknown before":  {nil, regionIs(true, false), false},
		"no part before":  {none, regionIs(true, false), false},
		"unknown later":   {regionIs(false, true), nil, false},
		"no part later":   {regionIs(false, true), none, false},
	} {
		m := planner().is("/d", image.Absent)
		change := Change{Addr: "edit:/d/f#line:x", From: c.from, To: c.to}
		if got := makesFile(change); got != c.want || (m.occupied(change) != nil) != c.want {
			t.Errorf("%s: %t, %v", what, got, m.occupied(change))
		}
	}
}

// TestDirectoriesOfAList: which step makes a directory, and which one replaces it.
func TestDirectoriesOfAList(t *testing.T) {
	m := planner("MKDIR /a", "COPY x /b", "RM /c", "LINK /x /l", "EDIT /e line=x")
	m.in.Desired[1] = step.Step{Verb: step.Copy, Args: []string{"x", "/b"}}
	for p, makes := range map[string]bool{"/a": true, "/b": false, "/c": false, "/": false} {
		if m.makes(p) != makes || m.comesBack(p) != makes {
			t.Errorf("the list makes %s: %t, %t", p, m.makes(p), m.comesBack(p))
		}
	}
	for p, replaced := range map[string]bool{"/a/x": false, "/b/x": true, "/c/x": false, "/l/x": true, "/e/x": false,
		"/b":    false,
		"/bb/x": false} {
		if m.replacedAbove(p) != replaced {
			t.Errorf("a directory above %s is replaced: %t", p, m.replacedAbove(p))
		}
	}
	m.is("/a", image.Regular).is("/b", image.Regular).is("/here", image.Directory)
	for p, awaits := range map[string]bool{"/a/x": true, "/a/x/y": true, "/b/x": false, "/here/x": false,
		"/none/x": false} {
		if got := m.awaits(Change{Addr: addr.File(p), To: pathOf(image.Regular)}); got != awaits {
			t.Errorf("%s waits for a directory: %t", p, got)
		}
	}
	for what, to := range map[string]*image.Image{"unknown": nil, "a part": regionIs(true, false),
		"nothing": pathOf(image.Absent)} {
		if m.awaits(Change{Addr: "file:/a/x", To: to}) {
			t.Errorf("%s waits for a directory", what)
		}
	}
}

// fixed are rules of packages: web keeps its version, and others get version 9. A path becomes absent.
type fixed struct{}

func (fixed) Target(s step.Step, now image.Image) (image.Image, error) {
	switch {
	case s.Verb == step.Pkg && s.Args[0] == "web":
		return now, nil
	case s.Verb == step.Pkg:
		return *packageIs("9", "ii"), nil
	}
	return *pathOf(image.Absent), nil
}

func (fixed) Irreversible(step.Step, image.Image, image.Image) string { return "" }
func (fixed) UserName(uint32) string                                  { return "root" }
func (fixed) GroupName(uint32) string                                 { return "root" }
