package local

import (
	"testing"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
)

// TestLinksWithAnotherTime: a link with the same target and another time is another link. A rollback
// restores the link that a run found, and not its directory with the other link.
func TestLinksWithAnotherTime(t *testing.T) {
	first, ours := linkOf(1), linkOf(2)
	p := newPast(func(string) []plan.TreeFile { return []plan.TreeFile{{Rel: "f", File: first}} })
	p.move(moveOf("/d/f", ours, first), plan.Remove, false)
	p.move(moveOf("/d", image.File{Type: image.Directory, Tree: "t"}, image.File{Type: image.Absent}), plan.Update, false)
	found := p.wanted(func(string) bool { return false })
	if found["/d"].Tree != "" || found["/d/f"].MTime != ours.MTime {
		t.Errorf("restored: %+v", found)
	}
}

// TestPathsThatReturn: a path has returned if it has the found image again, with its time. The time of a
// directory follows from its content.
func TestPathsThatReturn(t *testing.T) {
	of := func(t image.FileType, mtime int64) image.File { return image.File{Type: t, MTime: mtime} }
	for what, c := range map[string]struct {
		found, to image.File
		want      bool
	}{
		"the same link":              {linkOf(1), linkOf(1), true},
		"a link with another time":   {linkOf(1), linkOf(2), false},
		"a file with another time":   {of(image.Regular, 1), of(image.Regular, 2), false},
		"a device with another time": {of(image.CharDev, 1), of(image.CharDev, 2), false},
		"a directory":                {of(image.Directory, 1), of(image.Directory, 2), true},
		"nothing":                    {of(image.Absent, 0), of(image.Absent, 2), true},
	} {
		p := newPast(nil)
		p.add("/f", c.found, true)
		if got := p.returned("/f", c.to); got != c.want {
			t.Errorf("%s: %t", what, got)
		}
	}
}

// TestReleasedPaths: a path is released from its removal until a run changes it as a whole. An adoption and a
// change of a part of it do not count.
func TestReleasedPaths(t *testing.T) {
	then, ours, absent := linkOf(1), linkOf(2), image.File{Type: image.Absent}
	moved, part := moveOf("/f", then, ours), moveOf("/f", then, ours)
	part.Addr = "edit:/f#line:x"
	adopted := journal.Record{Kind: journal.Adopted, Addr: addr.File("/f"), From: new(image.Of(&absent))}
	for what, c := range map[string]struct {
		to   image.File
		next journal.Record
		want bool
	}{
		"adopted":           {then, adopted, true},
		"changed":           {then, moved, false},
		"a part of it":      {then, part, true},
		"with other state":  {absent, adopted, false},
		"of another object": {then, moveOf("/g", then, ours), true},
	} {
		p := newPast(nil)
		p.move(moved, plan.Update, false)
		p.move(moveOf("/f", ours, c.to), plan.Remove, true)
		p.move(c.next, plan.Update, false)
		if p.freed["/f"] != c.want {
			t.Errorf("%s: %t", what, p.freed["/f"])
		}
	}
}

// TestReleasedWithoutItsTree: a complete rollback to the goal released a directory without a file that an earlier run
// had removed. The directory is then as it was at the goal. After an incomplete rollback, its stored content still
// counts.
func TestReleasedWithoutItsTree(t *testing.T) {
	absent, dir := image.File{Type: image.Absent}, image.File{Type: image.Directory}
	tree := image.File{Type: image.Directory, Tree: "t"}
	for _, complete := range []bool{true, false} {
		p := newPast(func(string) []plan.TreeFile { return []plan.TreeFile{{Rel: "f", File: linkOf(1)}} })
		p.move(moveOf("/d/f", absent, linkOf(1)), plan.Remove, false)
		p.move(moveOf("/d", tree, absent), plan.Update, false)
		p.again = complete
		p.move(moveOf("/d", absent, dir), plan.Remove, true)
		found := p.wanted(func(string) bool { return false })
		if _, restores := found["/d"]; restores == complete || p.freed["/d"] != complete {
			t.Errorf("complete %t: %+v", complete, found)
		}
	}
}

// TestReleasedInATree: a run restored a path as the stored directory above it has it, and released it. It is not
// restored again, unless a run changes it, or removes the directory with it.
func TestReleasedInATree(t *testing.T) {
	absent, dir := image.File{Type: image.Absent}, image.File{Type: image.Directory}
	tree := image.File{Type: image.Directory, Tree: "t"}
	for what, c := range map[string]struct {
		to   image.File
		next []journal.Record
		want bool // it is restored
	}{
		"released":                 {linkOf(1), nil, false},
		"restored otherwise":       {linkOf(2), nil, true},
		"changed afterwards":       {linkOf(1), []journal.Record{moveOf("/d/f", linkOf(1), linkOf(3))}, true},
		"removed with a directory": {linkOf(1), []journal.Record{moveOf("/d", tree, absent)}, true},
	} {
		p := newPast(func(string) []plan.TreeFile { return []plan.TreeFile{{Rel: "f", File: linkOf(1)}} })
		p.move(moveOf("/d", tree, absent), plan.Update, false)
		p.move(moveOf("/d", absent, dir), plan.Update, false)
		p.move(moveOf("/d/f", absent, c.to), plan.Remove, false)
		for _, rec := range c.next {
			p.move(rec, plan.Update, false)
		}
		_, restores := p.wanted(func(string) bool { return true })["/d/f"]
		if restores != c.want || p.freed["/d/f"] == c.want {
			t.Errorf("%s: restored %t, released %t", what, restores, p.freed["/d/f"])
		}
	}
}

func linkOf(mtime int64) image.File {
	return image.File{Type: image.Symlink, Target: "x", MTime: mtime}
}

// moveOf is the record of a change of a path.
func moveOf(at string, from, to image.File) journal.Record {
	return journal.Record{Kind: journal.Move, Addr: addr.File(at), Path: at, From: new(image.Of(&from)),
		To: new(image.Of(&to))}
}
