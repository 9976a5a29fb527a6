package local_test

import (
	"path"
	"strings"
	"sync"
	"testing"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/move"
	"fettle.dev/fettle/internal/plan"
)

// touch is one mutation of the machine.
type touch struct{ op, path string }

// touches is every mutation since the last reset. Names may hold line breaks,
// so that a trace does not tell them apart.
type touches struct {
	mu  sync.Mutex
	all []touch
}

func (r *touches) count(op, path string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, touch{op, path})
	return nil
}

func (r *touches) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = nil
}

// touchedAsPlanned: whatever a run did to the machine since the last reset, it
// did to what its plan names, to temporary files beside that, or it made a
// parent of that durable or gave it its times back.
func (w *world) touchedAsPlanned(p *plan.Plan) {
	w.t.Helper()
	s := scopeOf(p)
	for _, one := range w.hits.all {
		if !s.allows(one) {
			w.t.Fatalf("the run did %s %q, and the plan (%s) does not say so", one.op, one.path, actions(p))
		}
	}
}

// scope is what a plan may touch.
type scope struct {
	paths, trees, parents map[string]bool
	kinds                 map[addr.Kind]bool
	accounts              bool
	homes                 []string
}

func scopeOf(p *plan.Plan) scope {
	s := scope{paths: map[string]bool{}, trees: map[string]bool{}, parents: map[string]bool{}, kinds: map[addr.Kind]bool{}}
	for _, c := range p.Changes {
		if c.Action.Mutates() {
			s.add(c)
		}
	}
	return s
}

func (s *scope) add(c plan.Change) {
	s.kinds[c.Addr.Kind()] = true
	switch c.Addr.Kind() {
	case addr.KindFile, addr.KindMeta, addr.KindEdit:
		at := c.Addr.Path()
		s.paths[at], s.parents[path.Dir(at)] = true, true
		if isTree(c) {
			s.trees[at] = true
		}
	case addr.KindUser, addr.KindGroup, addr.KindMember:
		s.accounts = true
		for _, i := range []*image.Image{c.From, c.To, c.Earlier} {
			if i != nil && i.User() != nil && i.User().Home != "" {
				s.addHome(i.User().Home)
			}
		}
		if c.Addr.Kind() == addr.KindUser {
			s.addHome("/home/" + c.Addr.Name())
		}
	}
}

func (s *scope) addHome(home string) {
	s.homes = append(s.homes, home)
	s.parents[path.Dir(home)] = true
}

// isTree tells whether a change takes a directory away or brings one back, with
// all that is in it.
func isTree(c plan.Change) bool {
	dir := func(i *image.Image) bool { return i != nil && i.File() != nil && i.File().Type == image.Directory }
	goes := dir(c.From) && (!dir(c.To) || c.Action == plan.Purge)
	comes := !dir(c.From) && (c.To == nil || dir(c.To) && c.Step.IsZero()) || c.Action == plan.Restore
	return goes || comes
}

func (s *scope) allows(t touch) bool {
	switch {
	case t.op == host.OpSyncFS:
		return true
	case t.op == host.OpRun:
		return s.runs(t.path)
	case s.paths[t.path] || s.temporary(t.path) || s.below(t.path, s.trees):
		return true
	case t.op == host.OpSyncDir || t.op == host.OpSetTimes:
		return s.parents[t.path] || s.accounts && t.path == "/etc" || s.home(t.path)
	case strings.HasPrefix(t.path, "/etc/"):
		return s.accounts && accountFile(path.Base(t.path))
	case strings.HasPrefix(t.path, "/m/"):
		return s.kinds[addr.KindExec] // the program mark
	}
	return s.home(t.path)
}

// runs tells whether a program belongs to a step of the plan.
func (s *scope) runs(program string) bool {
	switch program {
	case "apt-get", "dpkg":
		return s.kinds[addr.KindPkg]
	case "systemctl":
		return s.kinds[addr.KindUnit] || s.kinds[addr.KindAct]
	case "mark", "unmark":
		return s.kinds[addr.KindExec]
	}
	return s.kinds[addr.KindAct]
}

// temporary tells whether a path is a temporary file beside what the plan
// names, or lies in one.
func (s *scope) temporary(p string) bool {
	for q := p; q != "/"; q = path.Dir(q) {
		if move.IsTemp(path.Base(q)) {
			dir := path.Dir(q)
			return s.parents[dir] || s.temporary(dir) || s.below(dir, s.trees) || s.home(dir) || s.accounts && dir == "/home"
		}
	}
	return false
}

func (s *scope) below(p string, trees map[string]bool) bool {
	for q := p; ; q = path.Dir(q) {
		if trees[q] {
			return true
		}
		if q == "/" || q == "." {
			return false
		}
	}
}

func (s *scope) home(p string) bool {
	for _, h := range s.homes {
		if p == h || strings.HasPrefix(p, h+"/") {
			return true
		}
	}
	return false
}

// accountFile is one of the files of accounts, a copy of it, or its lock.
func accountFile(name string) bool {
	name = strings.TrimSuffix(strings.TrimPrefix(name, "."), ".fettle-new")
	switch strings.TrimSuffix(strings.TrimSuffix(name, "-"), ".lock") {
	case "passwd", "group", "shadow", "gshadow", "subuid", "subgid", "pwd":
		return true
	}
	return false
}

// TestTouchedTells: a run that did more than its plan says is noticed.
func TestTouchedTells(t *testing.T) {
	p := &plan.Plan{Changes: []plan.Change{
		{Action: plan.Update, Addr: "file:/t/a", From: new(image.Of(&image.File{Type: image.Regular})),
			To: new(image.Of(&image.File{Type: image.Regular}))},
		{Action: plan.Remove, Addr: "file:/t/gone", From: new(image.Of(&image.File{Type: image.Directory})),
			To: new(image.Of(&image.File{Type: image.Absent}))},
		{Action: plan.Adopt, Addr: "file:/t/adopted"}, {Action: plan.Update, Addr: "user:u1"},
		{Action: plan.Create, Addr: "pkg:p1"},
	}}
	s := scopeOf(p)
	for _, c := range []struct {
		touch
		want bool
	}{
		{touch{host.OpRename, "/t/a"}, true}, {touch{host.OpCreate, "/t/.fettle-1-1~"}, true},
		{touch{host.OpSyncDir, "/t"}, true}, {touch{host.OpSetTimes, "/t"}, true},
		{touch{host.OpRemove, "/t/gone/deep/f"}, true},
		{touch{host.OpWrite, "/etc/passwd"}, true}, {touch{host.OpRename, "/etc/.group.fettle-new"}, true},
		{touch{host.OpMkdir, "/home/u1/x"}, true}, {touch{host.OpRun, "apt-get"}, true},
		{touch{host.OpWrite, "/t/b"}, false}, {touch{host.OpChmod, "/t"}, false}, {touch{host.OpSyncDir, "/"}, false},
		{touch{host.OpCreate, "/x/.fettle-1-1~"}, false}, {touch{host.OpWrite, "/t/a/below"}, false},
		{touch{host.OpChown, "/t/adopted"}, false},
		{touch{host.OpWrite, "/etc/hosts"}, false}, {touch{host.OpCreate, "/home/ann/x"}, false},
		{touch{host.OpCreate, "/m/x"}, false}, {touch{host.OpRun, "systemctl"}, false}, {touch{host.OpRun, "mark"}, false},
		{touch{host.OpRun, "true"}, false},
	} {
		if got := s.allows(c.touch); got != c.want {
			t.Errorf("%s %q is allowed: %v", c.op, c.path, got)
		}
	}
}
