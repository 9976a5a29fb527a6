package plan

import (
	"testing"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/step"
)

// TestFoundAtPaths: a rollback restores the found image of a path, or its directory with everything in
// it.
func TestFoundAtPaths(t *testing.T) {
	m := planner().rollsBack()
	m.in.Goal.FilesBefore = map[string]image.File{
		"/f": {Type: image.Regular}, "/d": {Type: image.Directory}, "/gone": {Type: image.Absent},
		"/link": {Type: image.Symlink},
		"/tree": {Type: image.Directory, Tree: "t"}, "/tree/own": {Type: image.Regular},
	}
	for p, c := range map[string]struct {
		with  string
		known bool
	}{
		"/f": {"", true}, "/f/below": {"/f", true}, "/d": {"", true}, "/d/below": {"", false}, "/gone/below": {"", false},
		"/link/a/b": {"/link", true}, "/tree/a/b": {"/tree", true}, "/tree/own": {"", true}, "/other": {"", false},
		"": {"", false},
	} {
		to, with, known := m.foundAt(p)
		if with != c.with || known != c.known {
			t.Errorf("%s: with %q, known %t", p, with, known)
		}
		if with == "" && known && to.Type != m.in.Goal.FilesBefore[p].Type {
			t.Errorf("%s becomes %s", p, to.Type)
		}
	}
	m.in.Goal = nil
	if _, _, known := m.foundAt("/f"); known {
		t.Error("not a rollback")
	}
}

// TestSwallowedPaths: a path is restored with a directory above it if that becomes another object, or is
// restored with all of its content. A directory with files of others stays.
func TestSwallowedPaths(t *testing.T) {
	for what, c := range map[string]struct {
		found   image.File
		foreign string
		want    bool
	}{
		"a directory":                  {image.File{Type: image.Directory}, "", false},
		"a tree":                       {image.File{Type: image.Directory, Tree: "t"}, "", true},
		"a file":                       {image.File{Type: image.Regular}, "", true},
		"a file, with files of others": {image.File{Type: image.Regular}, "x", true},
		"nothing":                      {image.File{Type: image.Absent}, "", true},
		"nothing, with others":         {image.File{Type: image.Absent}, "x", false},
	} {
		m := planner().rollsBack()
		m.in.Goal.FilesBefore["/a/d"], m.in.ForeignPaths = c.found, map[string]string{"/a/d": c.foreign}
		if got := m.swallowed("/a/d/b/f"); got != c.want || m.swallowed("/a/d") {
			t.Errorf("%s: %t", what, got)
		}
	}
}

// stored returns the entry of a directory that fettle removed with its content.
func stored(line string) []journal.Entry {
	return []journal.Entry{entryOf(line, new(image.Of(&image.File{Type: image.Directory, Tree: "t"})))}
}

// TestPartsThatNoRunChanged: a rollback to a run releases parts of files that no run since has changed. It releases a
// path whose origin belonged to a directory above it.
func TestPartsThatNoRunChanged(t *testing.T) {
	for what, c := range map[string]struct {
		line   string
		change func(m *maker)
		want   bool
	}{
		"a part":                {"EDIT /f line=x", func(*maker) {}, true},
		"metadata":              {"META /f mode=0600", func(*maker) {}, true},
		"a file":                {"RM /f", func(*maker) {}, false},
		"in a stored directory": {"RM /d/f", func(m *maker) { m.returnsTo(stored("RM /d")) }, true},
		"of another directory":  {"RM /dd/f", func(m *maker) { m.returnsTo(stored("RM /d")) }, false},
		"in an empty directory": {"RM /d/f", func(m *maker) {
			m.returnsTo([]journal.Entry{entryOf("RM /d", pathOf(image.Directory))})
		}, false},
		"in a directory that was absent": {"RM /d/f", func(m *maker) {
			m.in.Goal.FilesBefore["/d"] = image.File{Type: image.Absent}
		}, true},
		"changed in a directory that was absent": {"RM /d/f", func(m *maker) {
			m.in.Goal.FilesBefore["/d"], m.in.Goal.Moved["/d/f"] = image.File{Type: image.Absent}, true
		}, false},
		"in a directory that changed": {"RM /d/f", func(m *maker) {
			m.in.Goal.FilesBefore["/d"] = image.File{Type: image.Directory}
		}, false},
		"a changed part":      {"EDIT /f line=x", func(m *maker) { m.in.Goal.Moved["/f"] = true }, false},
		"to before fettle":    {"EDIT /f line=x", func(m *maker) { m.in.Goal.To = 0 }, false},
		"a removal of a list": {"EDIT /f line=x", func(m *maker) { m.in.Goal = nil }, false},
	} {
		m := planner().rollsBack().is("/d", image.Absent)
		m.in.Rules = fixed{}
		c.change(m)
		if got := m.unmoved(entryOf(c.line, nil)); got != c.want {
			t.Errorf("%s: %t", what, got)
		}
	}
}

// TestPathInADirectoryLeftToOthers: a path in a directory that a rollback leaves to others gets its origin, because
// the origin of the directory at the goal does not return.
func TestPathInADirectoryLeftToOthers(t *testing.T) {
	for what, c := range map[string]struct {
		change func(m *maker, dir *journal.Entry)
		want   bool
	}{
		"as it was": {func(m *maker, _ *journal.Entry) { m.in.Goal.Unmanaged = nil }, true},
		"left":      {func(*maker, *journal.Entry) {}, false},
		"purged":    {func(_ *maker, dir *journal.Entry) { dir.PurgedBy = addr.File("/") }, false},
		"changed since": {func(m *maker, _ *journal.Entry) {
			m.in.Goal.Unmanaged, m.in.Rules = nil, links{} // others changed it too
			m.in.Goal.FilesBefore["/d"] = image.File{Type: image.Directory}
		}, true},
		"managed now":   {func(m *maker, dir *journal.Entry) { m.now[dir.Addr] = *dir }, true},
		"around a path": {func(m *maker, _ *journal.Entry) { m.in.Goal.Unmanaged = map[string]bool{"/d/f": true} }, true},
	} {
		m, dir := planner().rollsBack().is("/d", image.Absent), stored("RM /d")
		m.in.Rules = fixed{}
		m.in.Goal.Unmanaged = map[string]bool{"/d": true}
		c.change(m, &dir[0])
		m.returnsTo(dir)
		if got := m.unmoved(entryOf("RM /d/f", linkedFile(1))); got != c.want {
			t.Errorf("%s: %t", what, got)
		}
	}
}

// TestReleasedPathThatARollbackManaged: a rollback to a run leaves a path that another rollback released and a third
// one only managed again. A directory returns if a path in it needs it.
func TestReleasedPathThatARollbackManaged(t *testing.T) {
	dir := pathOf(image.Directory)
	for what, c := range map[string]struct {
		change func(m *maker)
		want   Action
	}{
		"released":         {func(*maker) {}, Forget},
		"changed since":    {func(m *maker) { m.in.Goal.Released = nil }, Restore},
		"of another path":  {func(m *maker) { m.in.Goal.Released = map[string]bool{"/d/f": true} }, Restore},
		"around a file":    {func(m *maker) { m.in.Goal.FilesBefore["/d/f"] = *linkedFile(1).File() }, Restore},
		"around no file":   {func(m *maker) { m.in.Goal.FilesBefore["/d/f"] = image.File{Type: image.Absent} }, Forget},
		"around a step":    {func(m *maker) { m.in.Desired = step.List{parse("LINK /x /d/f")} }, Restore},
		"around a removal": {func(m *maker) { m.in.Desired = step.List{parse("RM /d/f")} }, Forget},
	} {
		m := planner().rollsBack().is("/d", image.Absent)
		m.in.Rules = links{}
		m.in.Goal.Released = map[string]bool{"/d": true}
		c.change(m)
		m.removals.remove(entryOf("RM /d", dir))
		if got := m.p.Changes; len(got) != 1 || got[0].Shown() != c.want {
			t.Errorf("%s: %+v", what, got)
		}
	}
}

// TestTurnOfRestoredPaths: a restored path waits for the step of its directory, and is planned after it,
// parents first. A path that becomes absent waits for nothing.
func TestTurnOfRestoredPaths(t *testing.T) {
	m := planner("MKDIR /d")
	change := func(p string, to image.FileType) Change {
		return Change{Action: Restore, Addr: addr.File(p), From: pathOf(image.Absent), To: pathOf(to)}
	}
	m.restoration.inTurn(change("/d/b/c", image.Regular))
	m.restoration.inTurn(change("/d/b", image.Directory))
	m.restoration.inTurn(change("/d/gone", image.Absent))
	m.restoration.inTurn(change("/e", image.Regular))
	planned := func() (out string) {
		for _, c := range m.p.Changes {
			out += c.Addr.Path() + " "
		}
		return out
	}
	if got := planned(); got != "/d/gone /e " {
		t.Errorf("before the directory: %s", got)
	}
	m.restoration.below("/d")
	m.restoration.below("/d")
	if got := planned(); got != "/d/gone /e /d/b /d/b/c " {
		t.Errorf("after the directory: %s", got)
	}
}

// TestPathsThatRollbacksSkip: a rollback skips a path whose step is the same and whose last change is
// not newer than the goal.
func TestPathsThatRollbacksSkip(t *testing.T) {
	for what, c := range map[string]struct {
		change func(m *maker, e *journal.Entry)
		want   bool
	}{
		"not changed since": {func(*maker, *journal.Entry) {}, true},
		"changed since":     {func(_ *maker, e *journal.Entry) { e.Run = 2 }, false},
		"of another step":   {func(_ *maker, e *journal.Entry) { e.Step = parse("MKDIR /d/f") }, false},
		"changed by a run": {func(m *maker, _ *journal.Entry) {
			m.in.Goal.ImagesBefore["file:/d/f"] = *pathOf(image.Absent)
		}, false},
		"not a rollback":      {func(m *maker, _ *journal.Entry) { m.in.Goal = nil }, false},
		"below another tree":  {func(m *maker, _ *journal.Entry) { m.trees["/d"] = "t" }, false},
		"below a longer name": {func(m *maker, _ *journal.Entry) { m.trees["/d/file"] = "t" }, true},
	} {
		m := planner("RM /d/f").rollsBack()
		e := entryOf("RM /d/f", nil)
		c.change(m, &e)
		m.now[e.Addr] = e
		if got := m.restoration.untouched(m.in.Desired[0]); got != c.want || (m.p.Unchanged == 1) != c.want {
			t.Errorf("%s: %t, %d unchanged", what, got, m.p.Unchanged)
		}
	}
	if planner("RM /d/f").rollsBack().restoration.untouched(parse("RM /d/f")) {
		t.Error("a path that is not applied is skipped")
	}
}

// TestNoteOfHardLinks: the plan notes how many names a file has that is replaced.
func TestNoteOfHardLinks(t *testing.T) {
	names := func(t image.FileType, n uint64) image.Image { return image.Of(&image.File{Type: t, Nlink: n}) }
	for note, now := range map[string][]image.Image{
		"it has 2 hard links": {names(image.Regular, 2)},
		"":                    {names(image.Regular, 1), names(image.Directory, 2), *packageIs("1", "ii"), {}},
	} {
		for _, i := range now {
			if got := linked(i); got != note {
				t.Errorf("%+v: %q", i, got)
			}
		}
	}
}

// TestStepsInADirectoryThatWasAbsent: a rollback only manages an object again if its directory was absent at the
// goal. If a run since then changed a part of the file, the part is planned with its image.
func TestStepsInADirectoryThatWasAbsent(t *testing.T) {
	for what, c := range map[string]struct {
		line   string
		change func(m *maker, a addr.Addr)
		want   bool
	}{
		"a file":         {"COPY f /d/e/f", func(*maker, addr.Addr) {}, true},
		"a line":         {"EDIT /d/e/f line=x create=true", func(*maker, addr.Addr) {}, true},
		"metadata":       {"META /d/e/f mode=0600", func(*maker, addr.Addr) {}, true},
		"a package":      {"PKG bash", func(*maker, addr.Addr) {}, false},
		"a list":         {"EDIT /d/e/f line=x", func(m *maker, _ addr.Addr) { m.in.Goal = nil }, false},
		"a changed line": {"EDIT /d/e/f line=x", wasChanged, false},
		"a nearer directory": {"EDIT /d/e/f line=x", func(m *maker, _ addr.Addr) {
			m.in.Goal.FilesBefore["/d/e"] = image.File{Type: image.Directory}
		}, false},
	} {
		m, s := planner().rollsBack(), parse(c.line)
		m.in.Goal.FilesBefore["/d"] = image.File{Type: image.Absent}
		c.change(m, s.Addr())
		planned := m.restoration.stepFound(s, "")
		if planned != c.want || planned != (len(m.p.Changes) == 1) || planned && m.p.Changes[0].Action != Adopt {
			t.Errorf("%s: %t, %v", what, planned, m.p.Changes)
		}
	}
}

// wasChanged records that the first run after the goal changed a part of a file.
func wasChanged(m *maker, a addr.Addr) { m.in.Goal.ImagesBefore[a] = *regionIs(false, true) }

// TestDirectoryWithAnObjectThatStays: a rollback leaves a directory that was absent at its goal if an object in it
// stays, and removes it otherwise.
func TestDirectoryWithAnObjectThatStays(t *testing.T) {
	absent := image.File{Type: image.Absent}
	for what, c := range map[string]struct {
		step   string
		change func(m *maker)
		want   Action
	}{
		"a file":                {"COPY c /d/f", func(*maker) {}, Adopt},
		"a link":                {"LINK /x /d/f", func(*maker) {}, Adopt},
		"no file":               {"COPY c /d/f", func(m *maker) { m.is("/d/f", image.Absent) }, Restore},
		"a created file":        {"COPY c /d/f", func(m *maker) { m.in.Goal.FilesBefore["/d/f"] = absent }, Restore},
		"a removed file":        {"RM /d/f", func(*maker) {}, Restore},
		"of another path":       {"COPY c /dd/f", func(m *maker) { m.is("/dd/f", image.Regular) }, Restore},
		"a part":                {"EDIT /d/f line=x", edits("line=x", true, false), Adopt},
		"a part without a file": {"EDIT /d/f line=x", edits("line=x", false, true), Restore},
		"a created part": {"EDIT /d/f line=x", func(m *maker) {
			edits("line=x", true, false)(m)
			m.in.Goal.ImagesBefore["edit:/d/f#line:x"] = *regionIs(false, true)
		}, Restore},
		"a part of a created file": {"EDIT /d/f line=x", func(m *maker) {
			edits("line=x", true, false)(m)
			m.in.Goal.Edited["/d/f"] = WholeFile{To: absent}
		}, Restore},
		"an absent part": {"EDIT /d/f line=x ensure=absent", edits("line=x", false, false), Restore},
		"created metadata": {"META /d/f mode=0600", func(m *maker) {
			m.in.Observed["meta:/d/f"] = *pathOf(image.Regular)
			m.in.Goal.ImagesBefore["meta:/d/f"] = *pathOf(image.Absent)
		}, Restore},
	} {
		m := planner("MKDIR /d", c.step).rollsBack().is("/d", image.Directory).is("/d/f", image.Regular)
		m.in.Goal.FilesBefore["/d"] = absent
		c.change(m)
		if !m.restoration.stepFound(parse("MKDIR /d"), "") {
			t.Errorf("%s: the directory is not planned", what)
		}
		m.restoration.left()
		if got := m.p.Changes; len(got) != 1 || got[0].Action != c.want {
			t.Errorf("%s: %v", what, got)
		}
	}
}

// edits returns a function that records the observed image of a part of /d/f.
func edits(part string, present, noFile bool) func(m *maker) {
	return func(m *maker) { m.in.Observed[parse("EDIT /d/f "+part).Addr()] = *regionIs(present, noFile) }
}
