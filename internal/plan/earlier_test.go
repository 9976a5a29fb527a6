package plan

import (
	"slices"
	"testing"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
)

// rollsBack makes the maker one of a rollback to run 1.
func (m *maker) rollsBack() *maker {
	m.in.Goal = &Goal{To: 1, ImagesBefore: map[addr.Addr]image.Image{}, FilesBefore: map[string]image.File{},
		Moved: map[string]bool{}, Edited: map[string]WholeFile{}}
	return m
}

// returnsTo sets the entries of the goal of a rollback.
func (m *maker) returnsTo(entries []journal.Entry) {
	m.in.Goal.Entries, m.goal = entries, byAddr(entries)
}

// TestMadeFile: a part whose entry had no file before it made the file, so a rollback makes the file again.
func TestMadeFile(t *testing.T) {
	const line = "EDIT /f line=x"
	present := *regionIs(true, false)
	for what, c := range map[string]struct {
		entries []journal.Entry
		then    image.Image
		want    bool
	}{
		"it made the file":   {[]journal.Entry{entryOf(line, regionIs(false, true))}, present, true},
		"the file was there": {[]journal.Entry{entryOf(line, regionIs(false, false))}, present, false},
		"adopted":            {[]journal.Entry{entryOf(line, nil)}, present, false},
		"of another kind":    {[]journal.Entry{entryOf(line, pathOf(image.Absent))}, present, false},
		"another part made":  {[]journal.Entry{entryOf("EDIT /f line=y", regionIs(false, true))}, present, false},
		"not there then":     {[]journal.Entry{entryOf(line, regionIs(false, true))}, *regionIs(false, true), false},
		"no part then":       {[]journal.Entry{entryOf(line, regionIs(false, true))}, *pathOf(image.Regular), false},
		"not an entry":       {nil, present, false},
		"behind another part": {[]journal.Entry{entryOf("EDIT /f line=y", nil), entryOf(line, regionIs(false, true))},
			present, true},
	} {
		m := planner(line).rollsBack()
		m.returnsTo(c.entries)
		if got := m.madeFile(parse(line).Addr(), c.then); got != c.want {
			t.Errorf("%s: %t", what, got)
		}
	}
}

// TestUnderneath: a step sees something else at its turn if a change before it is about its path or brings a tree.
func TestUnderneath(t *testing.T) {
	for what, c := range map[string]struct {
		step    string
		prepare func(*maker)
		want    bool
	}{
		"nothing changed":            {"EDIT /a/f line=x", func(*maker) {}, false},
		"a part of a changed file":   {"EDIT /a/f line=x", func(m *maker) { m.changed["file:/a/f"] = true }, true},
		"metadata of a changed file": {"META /a/f mode=0600", func(m *maker) { m.changed["file:/a/f"] = true }, true},
		"the file itself":            {"RM /a/f", func(m *maker) { m.changed["file:/a/f"] = true }, false},
		"changed metadata": {"RM /a/f", func(m *maker) { m.changed["meta:/a/f"], m.redressed = true, true },
			true},
		"metadata that did not change": {"RM /a/f", func(m *maker) { m.redressed = true }, false},
		"a part and metadata": {"EDIT /a/f line=x",
			func(m *maker) { m.changed["meta:/a/f"], m.redressed = true, true }, false},
		"a part left the file": {"RM /a/f", func(m *maker) { m.leaves["/a/f"] = image.Regular }, true},
		"the step left the file": {"RM /a/f", func(m *maker) {
			m.leaves["/a/f"],
				m.changed["file:/a/f"] = image.Regular, true
		}, false},
		"a part and a part":     {"EDIT /a/f line=x", func(m *maker) { m.leaves["/a/f"] = image.Regular }, false},
		"a tree above":          {"RM /a/f", func(m *maker) { m.trees["/a"] = "t" }, true},
		"a tree far above":      {"RM /a/b/c/f", func(m *maker) { m.trees["/a"] = "t" }, true},
		"a tree elsewhere":      {"RM /a/f", func(m *maker) { m.trees["/b"] = "t" }, false},
		"a tree at the path":    {"RM /a", func(m *maker) { m.trees["/a"] = "t" }, false},
		"a link above":          {"RM /a/b/f", func(m *maker) { m.leaves["/a/b"] = image.Symlink }, true},
		"a directory at a link": {"MKDIR /a/b/f", func(m *maker) { m.leaves["/a/b"] = image.Symlink }, false},
		"a directory above":     {"RM /a/b/f", func(m *maker) { m.leaves["/a/b"] = image.Directory }, false},
		"a package and a tree":  {"PKG web", func(m *maker) { m.trees["/a"] = "t" }, false},
	} {
		m := planner(c.step)
		c.prepare(m)
		if got := m.underneath(parse(c.step)); got != c.want {
			t.Errorf("%s: %t", what, got)
		}
	}
}

// TestRearranged: the last part of a file that is in sync restores the file around it, unless something else does.
func TestRearranged(t *testing.T) {
	regular := func(digest string) image.File { return image.File{Type: image.Regular, Digest: digest} }
	moved := WholeFile{From: regular("sha256:a"), To: regular("sha256:b")}
	came := func(first string) func(*maker) {
		return func(m *maker) {
			m.in.Desired = append(m.in.Desired, parse(first), parse("EDIT /h line=y ensure=absent"))
			m.in.Goal.Edited["/h"] = WholeFile{From: moved.From, To: image.File{Type: image.Absent}}
		}
	}
	for what, c := range map[string]struct {
		step    string
		prepare func(*maker)
		want    bool
	}{
		"the last part":   {"EDIT /f line=y", func(*maker) {}, true},
		"another part":    {"EDIT /f line=x", func(*maker) {}, false},
		"of another file": {"EDIT /g line=x", func(*maker) {}, false},
		"metadata":        {"META /f mode=0600", func(*maker) {}, false},
		"no rollback":     {"EDIT /f line=y", func(m *maker) { m.in.Goal = nil }, false},
		"the same content": {"EDIT /f line=y", func(m *maker) {
			m.in.Goal.Edited["/f"] = WholeFile{From: moved.To,
				To: moved.To}
		}, false},
		"no file then": {"EDIT /f line=y", func(m *maker) { m.in.Goal.Edited["/f"] = WholeFile{From: moved.From} },
			false},
		"a file that came":                {"EDIT /h line=y", came("EDIT /h line=x ensure=absent"), true},
		"a file that came and has a part": {"EDIT /h line=y", came("EDIT /h line=x"), false},
		"a file that came, with metadata": {"EDIT /h line=y", came("META /h mode=0600"), false},
		"a link that came": {"EDIT /h line=y", func(m *maker) {
			came("EDIT /h line=x ensure=absent")(m)
			m.in.Goal.Edited["/h"] = WholeFile{From: moved.From, To: image.File{Type: image.Symlink}}
		}, false},
		"a part changes":      {"EDIT /f line=y", func(m *maker) { m.changed["edit:/f#line:x"] = true }, false},
		"another part moves":  {"EDIT /f line=y", func(m *maker) { m.changed["edit:/g#line:x"] = true }, true},
		"the metadata change": {"EDIT /f line=y", func(m *maker) { m.changed["meta:/f"] = true }, true},
	} {
		m := planner("EDIT /f line=x", "EDIT /f line=y", "META /f mode=0600", "EDIT /g line=x").rollsBack()
		m.in.Goal.Edited["/f"] = moved
		c.prepare(m)
		if got := m.rearranged(parse(c.step)); got != c.want {
			t.Errorf("%s: %t", what, got)
		}
	}
}

// TestWholeFiles: the last change of a part has what the whole file becomes.
func TestWholeFiles(t *testing.T) {
	m := planner().rollsBack()
	m.in.Goal.Edited["/f"] = WholeFile{To: image.File{Digest: "sha256:b"}}
	m.p.Changes = []Change{
		{Action: Restore, Addr: "edit:/f#line:x"}, {Action: Restore, Addr: "edit:/f#line:y"},
		{Action: Adopt, Addr: "edit:/f#line:z"},
		{Action: Restore, Addr: "meta:/f"}, {Action: Restore, Addr: "edit:/g#line:x"},
	}
	m.whole()
	for i, c := range m.p.Changes {
		if got := c.WholeFile != nil; got != (i == 1) || got && c.WholeFile.To.Digest != "sha256:b" {
			t.Errorf("%s %s has the whole file: %t", c.Action, c.Addr, got)
		}
	}
}

// TestGivenUp: the kept tree of a directory that a purge removed comes back if a step makes the directory without a purge.
func TestGivenUp(t *testing.T) {
	tree := new(image.Of(&image.File{Type: image.Directory, Tree: "t"}))
	for what, c := range map[string]struct {
		step, by string
		origin   *image.Image
		want     string
	}{
		"given up":         {"MKDIR /d", "file:/", tree, "t"},
		"with a purge":     {"MKDIR /d purge=true", "file:/", tree, ""},
		"never purged":     {"MKDIR /d", "", tree, ""},
		"it goes":          {"RM /d", "file:/", tree, ""},
		"adopted":          {"MKDIR /d", "file:/", nil, ""},
		"of another kind":  {"MKDIR /d", "file:/", packageIs("1", "ii"), ""},
		"without its tree": {"MKDIR /d", "file:/", pathOf(image.Directory), ""},
	} {
		e := entryOf("RM /d", c.origin)
		e.PurgedBy = addr.Addr(c.by)
		if got := givenUp(parse(c.step), e); got != c.want {
			t.Errorf("%s: %q", what, got)
		}
	}
}

// TestLostAbove: directories that come back are restored before the path in them, the top first.
func TestLostAbove(t *testing.T) {
	dir := pathOf(image.Directory)
	tree := new(image.Of(&image.File{Type: image.Directory, Tree: "t"}))
	type prepare = func(*maker, map[addr.Addr]bool)
	was := func(origin *image.Image) prepare {
		return func(m *maker, _ map[addr.Addr]bool) { m.now["file:/a"] = entryOf("RM /a", origin) }
	}
	now := func(t image.FileType) prepare {
		return func(m *maker, _ map[addr.Addr]bool) {
			if m.is("/a", t); t == "" {
				delete(m.in.Observed, "file:/a")
			}
		}
	}
	for what, c := range map[string]struct {
		line    string
		origin  *image.Image
		prepare prepare
		want    []addr.Addr
	}{
		"both are lost": {"RM /a/b/f", pathOf(image.Regular), func(*maker, map[addr.Addr]bool) {},
			[]addr.Addr{"file:/a", "file:/a/b"}},
		"it does not come": {"MKDIR /a/b/f", pathOf(image.Absent), func(*maker, map[addr.Addr]bool) {}, nil},
		"adopted":          {"RM /a/b/f", nil, func(*maker, map[addr.Addr]bool) {}, nil},
		"of another kind":  {"RM /a/b/f", packageIs("1", "ii"), func(*maker, map[addr.Addr]bool) {}, nil},
		"a part":           {"EDIT /a/b/f line=x", dir, func(*maker, map[addr.Addr]bool) {}, nil},
		"one was early": {"RM /a/b/f", dir, func(_ *maker, early map[addr.Addr]bool) { early["file:/a"] = true },
			[]addr.Addr{"file:/a/b"}},
		"one is wanted": {"RM /a/b/f", dir, func(m *maker, _ map[addr.Addr]bool) { m.wanted["file:/a/b"] = true },
			[]addr.Addr{"file:/a"}},
		"one is there":   {"RM /a/b/f", dir, now(image.Directory), []addr.Addr{"file:/a/b"}},
		"one is unknown": {"RM /a/b/f", dir, now(""), []addr.Addr{"file:/a/b"}},
		"one is a file":  {"RM /a/b/f", dir, now(image.Regular), []addr.Addr{"file:/a", "file:/a/b"}},
		"one is of others": {"RM /a/b/f", dir, func(m *maker, _ map[addr.Addr]bool) { delete(m.now, "file:/a") },
			[]addr.Addr{"file:/a/b"}},
		"one was adopted":   {"RM /a/b/f", dir, was(nil), []addr.Addr{"file:/a/b"}},
		"one was a file":    {"RM /a/b/f", dir, was(linkedFile(1)), []addr.Addr{"file:/a/b"}},
		"one is a tree":     {"RM /a/b/f", dir, was(tree), []addr.Addr{"file:/a", "file:/a/b"}},
		"one was a package": {"RM /a/b/f", dir, was(packageIs("", "")), []addr.Addr{"file:/a/b"}},
	} {
		m, early := planner().is("/a", image.Absent).is("/a/b", image.Absent), map[addr.Addr]bool{}
		m.now["file:/a"], m.now["file:/a/b"] = entryOf("RM /a", dir), entryOf("RM /a/b", dir)
		c.prepare(m, early)
		var got []addr.Addr
		for _, e := range m.removals.lostAbove(entryOf(c.line, c.origin), early) {
			got = append(got, e.Addr)
			if !early[e.Addr] {
				t.Errorf("%s: %s would come twice", what, e.Addr)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v", what, got)
		}
	}
}

// TestOwnedAbove: a path of a kept tree does not come back below a step that leaves no directory for others.
func TestOwnedAbove(t *testing.T) {
	for step, owned := range map[string]bool{"MKDIR /d/a": false, "MKDIR /d/a purge=true": true, "RM /d/a": true,
		"LINK /x /d/a":     true,
		"EDIT /d/a line=x": false, "META /d/a mode=0700": false, "MKDIR /d/other purge=true": false,
		"MKDIR /d purge=true": false} {
		m := planner(step)
		m.wanted["file:/d/a"] = true
		if got := m.ownedAbove("/d", "/d/a/b/f"); got != owned {
			t.Errorf("%s: %t", step, got)
		}
		if m.ownedAbove("/d", "/d/f") || m.ownedAbove("/", "/f") {
			t.Errorf("%s: a path beside it is owned", step)
		}
	}
	m := planner("META /d/a mode=0700", "RM /d/a")
	if !m.ownedAbove("/d", "/d/a/f") {
		t.Error("a step after the metadata is not seen")
	}
	delete(m.wanted, "file:/d/a")
	if m.ownedAbove("/d", "/d/a/f") {
		t.Error("a path without a step of its own is owned")
	}
}

// TestEntries: a purge sees the names in a directory, and those that come with a tree around it.
func TestEntries(t *testing.T) {
	m := planner()
	now := image.File{Type: image.Directory, Entries: []string{"b"}}
	m.in.StoredTree = func(tree string) []TreeFile {
		return map[string][]TreeFile{"t": {{Rel: "c"}, {Rel: "d"}, {Rel: "d/a"}, {Rel: "d/b"}, {Rel: "d/e/f"}}}[tree]
	}
	if got := m.entries("/x/d", now); !slices.Equal(got, []string{"b"}) {
		t.Errorf("without a tree: %v", got)
	}
	m.trees["/x"] = "t"
	for dir, want := range map[string][]string{"/x": {"b", "c", "d"}, "/x/d": {"a", "b"}, "/x/d/e": {"b", "f"},
		"/y": {"b"}} {
		if got := m.entries(dir, now); !slices.Equal(got, want) {
			t.Errorf("in %s: %v, want %v", dir, got, want)
		}
	}
	if m.in.StoredTree = nil; !slices.Equal(m.entries("/x", now), []string{"b"}) || len(now.Entries) != 1 {
		t.Errorf("a tree that is not known: %v", m.entries("/x", now))
	}
}

// TestOriginOf: the removal of a part restores what the first run after the goal found, and metadata have no time.
func TestOriginOf(t *testing.T) {
	part, older := entryOf("EDIT /f line=x", linkedRegion(1, "old")), linkedRegion(1, "found")
	m := planner().rollsBack()
	if got := m.originOf(part); got.Region().Text != "old" {
		t.Errorf("a part that nothing found: %q", got.Region().Text)
	}
	m.in.Goal.ImagesBefore[part.Addr] = *older
	if got := m.originOf(part); got.Region().Text != "found" {
		t.Errorf("a part that a run found: %q", got.Region().Text)
	}
	m.in.Goal.ImagesBefore[part.Addr] = *pathOf(image.Regular)
	if got := m.originOf(part); got.Region() == nil || got.Region().Text != "old" {
		t.Errorf("a part where a run found another kind: %+v", got)
	}
	m.in.Goal.ImagesBefore["pkg:web"] = *packageIs("2", "ii")
	if got := m.originOf(entryOf("PKG web", packageIs("1", "ii"))); got.Package().Version != "1" {
		t.Errorf("a package: %+v", got.Package())
	}
	timed := new(image.Of(&image.File{Type: image.Regular, Mode: 0o600, MTime: 7}))
	if got := m.originOf(entryOf("META /f mode=0600", timed)); got.File().MTime != 0 || got.File().Mode != 0o600 ||
		timed.File().MTime != 7 {
		t.Errorf("metadata: %+v of %+v", got.File(), timed.File())
	}
	if got := m.originOf(entryOf("RM /f", timed)); got.File().MTime != 7 {
		t.Errorf("a file: %+v", got.File())
	}
	if got := m.originOf(entryOf("META /f mode=0600", older)); got.Region() == nil {
		t.Errorf("metadata of another kind: %+v", got)
	}
}

// TestUnseen: what was observed behind a link says nothing if this plan replaces the link.
func TestUnseen(t *testing.T) {
	m := planner().rollsBack().is("/l", image.Symlink).is("/d", image.Directory).is("/a", image.Absent).is("/l/f",
		image.Regular)
	for _, p := range []string{"/l", "/d", "/a", "/unknown"} {
		m.in.Goal.FilesBefore[p] = image.File{Type: image.Directory}
	}
	m.is("/file", image.Symlink).in.Goal.FilesBefore["/file"] = image.File{Type: image.Regular}
	m.is("/kept", image.Symlink)
	for p, unseen := range map[string]bool{"/l/f": true, "/l/b/f": true, "/d/f": false, "/a/f": false,
		"/unknown/f": false, "/file/f": false,
		"/kept/f": false, "/l": false} {
		if m.unseen(p) != unseen {
			t.Errorf("%s is unseen: %t", p, !unseen)
		}
	}
	for p, want := range map[string]image.FileType{"/l/f": image.Absent, "/nothing": image.Absent, "/d": image.Directory} {
		if got := m.pathNow(p).File().Type; got != want {
			t.Errorf("%s is %q now, want %q", p, got, want)
		}
	}
	m.in.Goal = nil
	if m.unseen("/l/f") {
		t.Error("a link that stays hides a path")
	}
	m.changed["file:/l"], m.relinked = true, true
	if !m.unseen("/l/f") {
		t.Error("a link that changes hides no path")
	}
}
