package apply_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/apply"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/step"
)

// change makes a change of a step from and to images of files: "absent", "dir",
// "file", "tree", "link".
func change(t *testing.T, action plan.Action, line, from, to string) plan.Change {
	t.Helper()
	s, err := step.ParseLine(line)
	if err != nil {
		t.Fatal(err)
	}
	c := plan.Change{Action: action, Addr: s.Addr(), Step: s}
	if k := c.Addr.Kind(); k == addr.KindFile || k == addr.KindMeta || k == addr.KindEdit {
		c.From, c.To = fileImage(from), fileImage(to)
	}
	return c
}

func fileImage(what string) *image.Image {
	f := image.File{Type: image.FileType(what)}
	switch what {
	case "file":
		f.Type, f.Digest = image.Regular, "sha256:00"
	case "big":
		f.Type, f.Digest = image.Regular, "sha256:01"
	case "tree":
		f.Type, f.Tree = image.Directory, "sha256:02"
	}
	return new(image.Of(&f))
}

// batches gives what a machine says to do, a batch a line, when all goes well.
func batches(p *plan.Plan, back bool) string {
	m := apply.NewMachine(p, nil, func(d string) int64 { return map[string]int64{"sha256:01": 40 << 20}[d] })
	done := apply.Done
	if back {
		for i := range p.Changes {
			m.Set(i, apply.Done)
		}
		m.Back, done = true, apply.Undone
	}
	var out []string
	for {
		op, indexes := m.Next()
		if op == apply.OpEnd && len(indexes) == 0 {
			return strings.Join(out, "; ")
		}
		for _, i := range indexes {
			m.Set(i, done)
		}
		name := map[apply.Op]string{apply.OpRecord: "record", apply.OpPaths: "paths", apply.OpGroup: "group",
			apply.OpMove: "move", apply.OpAct: "act", apply.OpWait: "wait", apply.OpCheck: "check"}[op]
		out = append(out, fmt.Sprint(name, indexes))
	}
}

// TestBatches: what may be done together is, and what has to wait does.
func TestBatches(t *testing.T) {
	for _, c := range []struct {
		name          string
		lines         []string // ACTION FROM TO STEP
		forward, back string
	}{
		{"independent files", []string{"create absent file COPY x /a", "update file file COPY x /b"}, "paths[0 1]",
			"paths[1 0]"},
		{"one path twice", []string{"update file file COPY x /a", "update file file META /a mode=0600"},
			"paths[0]; paths[1]", "paths[1]; paths[0]"},
		{"into a new directory", []string{"create absent dir MKDIR /d", "create absent file COPY x /d/a"}, "paths[0 1]",
			"paths[1 0]"},
		{"into what was a file", []string{"update file dir MKDIR /d", "create absent file COPY x /d/a"},
			"paths[0]; paths[1]", "paths[1]; paths[0]"},
		{"deep into a new directory", []string{"create absent dir MKDIR /d", "create absent dir MKDIR /d/e",
			"create absent file COPY x /d/e/a"}, "paths[0 1 2]", "paths[2 1 0]"},
		{"a directory that becomes a file", []string{"remove file absent COPY x /d/a", "update dir file COPY x /d"},
			"paths[0]; paths[1]", "paths[1]; paths[0]"},
		{"a directory that goes", []string{"remove file absent COPY x /d/a", "remove dir absent MKDIR /d"}, "paths[0 1]",
			"paths[1]; paths[0]"},
		{"into a directory that comes back whole", []string{"restore absent tree MKDIR /d", "restore absent dir MKDIR /d/e",
			"restore absent file COPY x /d/e/a"}, "paths[0]; paths[1]; paths[2]", "paths[2 1]; paths[0]"},
		{"many bytes", []string{"create absent big COPY x /a", "create absent big COPY x /b",
			"create absent big COPY x /c"}, "paths[0]; paths[1]; paths[2]", "paths[2]; paths[1]; paths[0]"},
		{"validated in its place", []string{"create absent file COPY x /a",
			"create absent file COPY x /b validate=\"true /b\"", "create absent file COPY x /c"},
			"paths[0]; paths[1]; paths[2]", "paths[2]; paths[1]; paths[0]"},
		{"packages together", []string{"create - - PKG web", "create - - PKG lib", "create absent file COPY x /a"},
			"group[0 1]; paths[2]", "paths[2]; group[1 0]"},
		{"the rest one by one", []string{"create - - USER a", "create - - USER b", "run - - ACT run x /bin/x on=file:/a",
			"run - - ACT run y /bin/y on=file:/a", "verify - - CHECK c file=/a", "verify - - CHECK d file=/a"},
			"move[0]; move[1]; act[2]; act[3]; check[4]; check[5]", "check[5]; check[4]; act[3]; act[2]; move[1]; move[0]"},
		{"a wait parts what is around it", []string{"create absent file COPY x /a", "wait - - WAIT w file=/a",
			"create absent file COPY x /b", "create - - PKG web", "wait - - WAIT v file=/a", "create - - PKG lib"},
			"paths[0]; wait[1]; paths[2]; group[3]; wait[4]; group[5]",
			"group[5]; wait[4]; group[3]; paths[2]; wait[1]; paths[0]"},
		{"only recorded", []string{"adopt file file COPY x /a", "drift file file COPY x /b",
			"create absent file COPY x /c"}, "record[0 1]; paths[2]", "paths[2]; record[1 0]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &plan.Plan{}
			for _, line := range c.lines {
				f := strings.SplitN(line, " ", 4)
				p.Changes = append(p.Changes, change(t, plan.Action(f[0]), f[3], f[1], f[2]))
			}
			if got := batches(p, false); got != c.forward {
				t.Errorf("forward %s, want %s", got, c.forward)
			}
			if got := batches(p, true); got != c.back {
				t.Errorf("back %s, want %s", got, c.back)
			}
		})
	}
}

// TestTreeAndItsPartAreNotOneBatch: a tree that came back is compared as a whole
// when it is undone, so what went in it has to be there by then.
func TestTreeAndItsPartAreNotOneBatch(t *testing.T) {
	p := &plan.Plan{Changes: []plan.Change{
		change(t, plan.Restore, "MKDIR /d", "absent", "tree"),
		change(t, plan.Purge, "RM /d/foreign", "file", "absent"),
	}}
	if got, want := batches(p, true), "paths[1]; paths[0]"; got != want {
		t.Errorf("back %s, want %s", got, want)
	}
}

// TestBatchesEnd: a batch has no more than so many changes.
func TestBatchesEnd(t *testing.T) {
	p := &plan.Plan{}
	for i := range 16385 {
		p.Changes = append(p.Changes, change(t, plan.Create, fmt.Sprintf("COPY x /f%d", i), "absent", "file"))
	}
	m := apply.NewMachine(p, nil, nil)
	if op, indexes := m.Next(); op != apply.OpPaths || len(indexes) != 16384 || !slices.IsSorted(indexes) {
		t.Errorf("operation %d of %d changes", op, len(indexes))
	}
}

// TestWhatIsFailedStays: the machine goes on behind what failed, and comes back
// only over what is done.
func TestWhatIsFailedStays(t *testing.T) {
	p := &plan.Plan{Changes: []plan.Change{
		change(t, plan.Create, "USER a", "-", "-"), change(t, plan.Create, "USER b", "-", "-"),
		change(t, plan.Create, "USER c", "-", "-"),
		{Action: plan.Remove, Addr: "user:d", Applied: step.Step{Verb: step.User, Args: []string{"d"}}, Source: "list:7"},
		{Action: plan.Remove, Addr: "user:e"},
	}}
	m := apply.NewMachine(p, nil, nil)
	m.Set(0, apply.Done)
	m.Set(1, apply.Failed)
	if op, next := m.Next(); op != apply.OpMove || !slices.Equal(next, []int{2}) {
		t.Errorf("operation %d of %v", op, next)
	}
	m.Back = true
	if op, next := m.Next(); op != apply.OpMove || !slices.Equal(next, []int{0}) {
		t.Errorf("back: operation %d of %v", op, next)
	}
	if s := m.Step(3); s.String() != "USER d" || s.Source != "list:7" {
		t.Errorf("what goes is about %q from %q", s, s.Source)
	}
	if s := m.Step(4); s.Verb != "" {
		t.Errorf("a change without a step is about %q", s)
	}
	for s, want := range map[apply.Status]string{apply.Do: "to do", apply.Done: "done", apply.Failed: "failed",
		apply.Skipped: "skipped", apply.Undone: "undone", apply.Stuck: "could not be undone"} {
		if s.String() != want {
			t.Errorf("status %d is %q, want %q", s, s, want)
		}
	}
}
