package rollouts

import (
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/exported"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/rollout"
	"fettle.dev/fettle/internal/window"
)

// assignment returns an assignment from words NAME=CONTENT@COMMIT; a need follows after >. "" means none.
func assignment(words string) *fleet.Assignment {
	if words == "" {
		return nil
	}
	a := &fleet.Assignment{Target: "t1", Generation: 1}
	for w := range strings.FieldsSeq(words) {
		w, need, _ := strings.Cut(w, ">")
		name, rest, _ := strings.Cut(w, "=")
		content, commit, _ := strings.Cut(rest, "@")
		p := fleet.Assigned{Module: name, Bundle: fleet.Bundle{Digest: content}, Revision: fleet.Revision{Commit: commit}}
		if need != "" {
			p.Needs = []fleet.Need{{Module: need, Level: fleet.Available}}
		}
		if name == rootPart {
			p.Module, a.Root = "", p
		} else {
			a.Modules = append(a.Modules, p)
		}
	}
	return a
}

// text is the reverse of assignment, without needs.
func text(a fleet.Assignment) string {
	if a.Target == "" {
		return "none"
	}
	var out []string
	for _, p := range parts(a) {
		out = append(out, partName(p)+"="+p.Bundle.Digest+"@"+p.Revision.Commit)
	}
	return strings.Join(out, " ")
}

// composition is one case of TestCompose.
type composition struct {
	was, want, allowed string
	stable, log        string // content
	returns            string // the names of parts that return; their content is in log
	get                string
}

func (c composition) run() string {
	was, want, log := assignment(c.was), assignment(c.want), assignment(c.log)
	how := choice{known: &differences{},
		allowed: func(ch rollout.Change) (bool, string) {
			return slices.Contains(strings.Fields(c.allowed), ch.Part), "waits"
		},
		stable: func(part string) (fleet.Assigned, bool) { return find(assignment(c.stable), part) },
		content: func(c rollout.Change) (found fleet.Assigned, ok bool) {
			if log == nil {
				return found, false
			}
			for _, p := range parts(*log) {
				if digest(p) == c.Digest && partName(p) == c.Part {
					return p, true
				}
			}
			return found, false
		}}
	for part := range strings.FieldsSeq(c.returns) {
		how.returns = append(how.returns, rollout.Change{Part: part, Digest: has(log, part)})
	}
	how.wants = wants(was, *want)
	give, _ := how.compose(was, *want)
	return text(give)
}

func TestCompose(t *testing.T) {
	const old, all = "top=t1@c1 web=w1@c1 db=d1@c1", "top=t1@c2 web=w2@c2 db=d2@c2"
	for name, c := range map[string]composition{
		"nothing":    {was: old, want: all, get: old},
		"one module": {was: old, want: all, allowed: "web", get: "top=t1@c2 web=w2@c2 db=d1@c1"},
		"everything": {was: old, want: all, allowed: "top web db", get: all},
		"not the root": {was: old, want: "top=t2@c2 web=w2@c2 db=d1@c1", allowed: "web",
			get: "top=t1@c1 web=w2@c2 db=d1@c1"},
		"no removal yet": {was: old, want: "top=t1@c2 web=w2@c2", allowed: "web", get: "top=t1@c2 web=w2@c2 db=d1@c1"},
		"a removal":      {was: old, want: "top=t1@c2 web=w1@c1", allowed: "db", get: "top=t1@c2 web=w1@c1"},
		"no new module":  {was: old, want: "top=t1@c1 new=n1@c2 web=w1@c1 db=d1@c1", get: old},
		"a need that waits": {was: old, want: "top=t1@c2 web=w2@c2>new db=d1@c1 new=n1@c2", allowed: "web",
			get: old},
		"a new target":          {want: all, allowed: "web", get: "none"},
		"a new target, a need":  {want: "top=t1@c2 web=w2@c2>db db=d2@c2", allowed: "top web", get: "none"},
		"a new target, no need": {want: "top=t1@c2 web=w2@c2>db", allowed: "top web", get: "none"},
		"a part of all":         {want: all, allowed: "top web", get: "top=t1@c2 web=w2@c2"},
		"stable content": {want: all, allowed: "db", stable: "top=t0@c0 web=w0@c0",
			get: "top=t0@c0 web=w0@c0 db=d2@c2"},
		"no removals": {was: "top=t1@c1 z=1@c1 new=1@c1 a=1@c1", want: "top=t1@c1", get: "top=t1@c1 z=1@c1 new=1@c1 a=1@c1"},
		"a rollback": {was: all, want: all, allowed: "top web db", log: old, returns: "web",
			get: "top=t1@c2 web=w1@c1 db=d2@c2"},
		"back to none": {was: all, want: all, allowed: "top web db", log: "top=t1@c1", returns: "web",
			get: "top=t1@c2 db=d2@c2"},
		"back, removed modules": {was: "top=t1@c2", want: "top=t1@c2", log: "top=t1@c1 d=4@c1 c=3@c1 b=2@c1 a=1@c1",
			returns: "d c b a", get: "top=t1@c2 a=1@c1 b=2@c1 c=3@c1 d=4@c1"},
		"back, not ahead": {was: all, want: "top=t3@c3 web=w3@c3 db=d2@c2", allowed: "top web db", log: old,
			returns: "web",
			get:     "top=t1@c2 web=w1@c1 db=d2@c2"},
		"back, a need": {was: "top=t1@c2 web=w2@c2>new new=n1@c2", want: "top=t1@c2 web=w2@c2>new new=n1@c2",
			log: "top=t1@c1", returns: "new", get: "top=t1@c2 web=w2@c2 new=n1@c2"},
	} {
		if got := c.run(); got != c.get {
			t.Errorf("%s: the target gets %s instead of %s", name, got, c.get)
		}
	}
}

// An assignment that was withdrawn has no parts: the target is new.
func TestWithdrawn(t *testing.T) {
	was, want := assignment("top=t1@c1 web=w1@c1"), assignment("top=t1@c1 web=w1@c1")
	was.Withdrawn = "retired"
	if got := wants(was, *want); len(got) != 2 {
		t.Errorf("a target that returns wants %v", got)
	}
	for _, part := range []string{"top", "web"} {
		if found, ok := find(was, part); ok {
			t.Errorf("a target that was removed has %s: %+v", part, found)
		}
	}
	none := func(rollout.Change) (bool, string) { return false, "waits" }
	unstable := func(string) (p fleet.Assigned, ok bool) { return p, false }
	c := choice{known: &differences{}, wants: wants(was, *want), allowed: none, stable: unstable}
	if got, _ := c.compose(was, *want); text(got) != "none" {
		t.Errorf("a target that returns gets %s before it may", text(got))
	}
	if got := wants(want, *assignment("top=t1@c9 web=w1@c9")); got != nil {
		t.Errorf("the same content of another commit is the change %v", got)
	}
}

// TestComposeRest: while parts wait, a target also keeps the tables of exported values that its parts can use. Windows
// never delay the return to earlier content.
func TestComposeRest(t *testing.T) {
	const old, all = "top=t1@c1 web=w1@c1", "top=t1@c1 web=w2@c2 new=n1@c2"
	table := func(module string) []exported.Table { return []exported.Table{{Module: module, Output: "x"}} }
	web := rollout.Change{Part: "web", Digest: has(assignment(old), "web")}
	for name, c := range map[string]struct {
		was              string
		allowed          bool
		returns          []rollout.Change
		tables, withheld []string
		windows          int
		get              string
	}{
		"everything":   {old, true, nil, []string{"new"}, nil, 1, all},
		"nothing yet":  {old, false, nil, []string{"new", "old"}, []string{"new"}, 1, old},
		"a new target": {"", true, nil, []string{"new"}, nil, 1, all},
		"a return":     {all, true, []rollout.Change{web}, []string{"new", "old"}, nil, 0, "top=t1@c1 web=w1@c1 new=n1@c2"},
	} {
		was, want := assignment(c.was), assignment(all)
		want.Exported, want.Windows = table("new"), []window.Window{{Name: "morning"}}
		if was != nil {
			was.Exported, was.Windows = table("old"), want.Windows
		}
		how := choice{known: &differences{}, wants: wants(was, *want), returns: c.returns,
			allowed: func(rollout.Change) (bool, string) { return c.allowed, "waits" },
			stable:  func(string) (p fleet.Assigned, ok bool) { return p, false },
			content: func(rollout.Change) (fleet.Assigned, bool) { return find(assignment(old), "web") }}
		give, _ := how.compose(was, *want)
		var tables []string
		for _, x := range give.Exported {
			tables = append(tables, x.Module)
		}
		if text(give) != c.get || !slices.Equal(tables, c.tables) || !slices.Equal(give.Withheld, c.withheld) ||
			len(give.Windows) != c.windows {
			t.Errorf("%s: %s, tables %q, without %q, %d windows", name, text(give), tables, give.Withheld, len(give.Windows))
		}
	}
}
