package local

import (
	"context"
	"encoding/hex"
	"reflect"
	"strings"
	"time"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/capture"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/accountfile"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/lookcache"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/step"
)

// look returns the plan of an earlier observation that found nothing to do, if everything is as it was
// then. This takes one lstat for each path: no list is loaded, and no state is read. Otherwise it
// observes the host, and stores the observation if it finds nothing to do.
func (x *remembered) look(ctx context.Context, r *executor.Request) (looked, error) {
	key, keyed := x.lookKey(r)
	if keyed && x.program != "" {
		if p := x.asRemembered(ctx, key, r.Verify, r.Guards); p != nil {
			return looked{plan: p, key: key, keyed: true}, nil
		}
	}
	began := x.now()
	l, err := x.source.look(ctx, r)
	if err != nil || !keyed || key.Run != l.state.Run || len(r.Deferred) > 0 {
		return l, err
	}
	l.key, l.keyed = key, true
	if x.program != "" && l.idle() {
		x.remember(key, l.plan, toLookAt(r.List, l.state.Entries), l.seen.images, began)
	}
	return l, nil
}

// idle reports whether an observation was complete and found nothing to do.
func (l looked) idle() bool {
	return !l.todo && len(l.seen.failed) == 0 && nothingToDo(l.plan) && len(l.state.Pending) == 0
}

// nothingToDo tells whether a plan has checks at most.
func nothingToDo(p *plan.Plan) bool {
	for _, c := range p.Changes {
		if c.Action != plan.Verify {
			return false
		}
	}
	return true
}

// lookKey contains the inputs of a plan for r, other than the observed addresses.
func (x *remembered) lookKey(r *executor.Request) (lookcache.Key, bool) {
	run, file, err := x.store.StateMark()
	if err != nil || run == 0 {
		return lookcache.Key{}, false
	}
	k := lookcache.Key{Program: x.program, List: r.Digest(), Target: r.Target, Revision: r.Revision,
		Repository: r.Identity(), Repair: r.Repair, Run: run, State: file}
	for i, path := range []string{"/etc/passwd", "/etc/group"} {
		if st, err := x.host.Lstat(path); err == nil {
			st.ATime = 0
			k.Accounts[i] = st
		}
	}
	return k, true
}

// asRemembered gives the plan of an earlier look if looking now would give the
// same; nil when that is not sure.
func (x *remembered) asRemembered(ctx context.Context, key lookcache.Key, verify bool, how executor.Guards) *plan.Plan {
	m := lookcache.Load(x.store.FS())
	if !m.Is(key) || !m.Still(ctx, x.host, verify) || !x.sameRest(ctx, m.Rest, verify, how) {
		return nil
	}
	p, err := plan.Read(m.Plan)
	if err != nil {
		return nil
	}
	return p
}

// sameRest observes what no lstat can speak for.
func (x *remembered) sameRest(ctx context.Context, rest []lookcache.Rest, verify bool, how executor.Guards) bool {
	if len(rest) == 0 {
		return true
	}
	steps := make(step.List, 0, len(rest))
	for _, r := range rest {
		s := r.Step
		s.Source = r.Source
		steps = append(steps, s)
	}
	seen, err := x.planner.observe(ctx, steps, verify, how)
	if err != nil || len(seen.failed) > 0 {
		return false
	}
	for i, s := range steps {
		if !reflect.DeepEqual(seen.images[s.Addr()], rest[i].Image) {
			return false
		}
	}
	return true
}

// remember keeps a look that began at began and found nothing to do. Where it
// cannot be sure it keeps nothing: it is only ever a saving.
func (x *remembered) remember(key lookcache.Key, p *plan.Plan, steps step.List, images map[addr.Addr]image.Image,
	began time.Time) {
	if key.Racy(began) {
		return
	}
	m := &lookcache.Memory{Key: key}
	var err error
	if m.Plan, err = journal.Marshal(p); err != nil {
		return
	}
	var paths []lookcache.Path
	seen := map[string]bool{}
	for _, s := range steps {
		img := images[s.Addr()]
		switch {
		case s.Verb == step.Act || s.Verb == step.Wait || s.Verb == step.Check || s.Verb == step.Include:
		case x.witnesses(s.Verb) != nil:
			for _, w := range x.witnesses(s.Verb) {
				if !seen[w] {
					seen[w] = true
					paths = append(paths, lookcache.Path{Path: w, Witness: true})
				}
			}
		case byLstat(s, img):
			paths = append(paths, lookcache.Path{Path: s.Path(), Loose: s.Verb == step.Mkdir && s.Get("purge") != "true" &&
				img.File().Type == image.Directory})
		default:
			m.Rest = append(m.Rest, lookcache.Rest{Step: s, Source: s.Source, Image: img})
		}
	}
	if !m.SetPaths(x.host, paths, func(p *lookcache.Path) bool { return x.sure(p, images, began) }) {
		return
	}
	_ = m.Save(x.store.FS())
}

// witnesses are the files that all which a verb observes is read from; nil when
// it is more than files, or the first of them is not there. They also keep
// password hashes out of the memory.
func (x *remembered) witnesses(v step.Verb) []string {
	var files []string
	switch v {
	case step.User, step.Group, step.Member:
		files = []string{accountfile.Passwd, accountfile.Shadow, accountfile.Group, accountfile.GShadow, accountfile.SubUID,
			accountfile.SubGID}
	case step.Pkg: // dpkg replaces the file status as a whole, and stores pending changes in updates
		files = []string{"/var/lib/dpkg/status", "/var/lib/dpkg/updates", "/var/lib/apt/extended_states"}
	default:
		return nil
	}
	if there, err := host.Exists(x.host, files[0]); err != nil || !there {
		return nil
	}
	return files
}

// byLstat reports whether an lstat of its path detects each change of a step's address,
// once it was observed. Regions and metadata need more than an lstat.
func byLstat(s step.Step, img image.Image) bool {
	switch s.Verb {
	case step.Mkdir, step.Copy, step.Link, step.Rm:
		return img.File() != nil
	}
	return false
}

// sure reports whether the stat is the stat of the observed file. A change time before
// the observation shows that the inode did not change since. The other fields show that
// the inode is the same.
func (x *remembered) sure(p *lookcache.Path, images map[addr.Addr]image.Image, began time.Time) bool {
	if p.Witness {
		return x.witnessed(p, began)
	}
	f := images[addr.File(p.Path)].File()
	if f == nil || f.Type != p.Stat.Type || p.Racy(began) {
		return false
	}
	if f.Type == image.Absent {
		return true
	}
	if f.UID != p.Stat.UID || f.GID != p.Stat.GID || f.Type != image.Symlink && f.Mode != p.Stat.Mode {
		return false
	}
	switch f.Type {
	case image.Regular:
		name := p.Path
		if f.Sealed != "" {
			name += capture.SealedMark + f.Sealed
		}
		d, ok := x.digests().Digest(name, p.Stat)
		return ok && d == f.Digest && setSum(p, d)
	case image.Symlink:
		to, err := x.host.Readlink(p.Path)
		return err == nil && to == f.Target
	}
	return true
}

// witnessed fills in the stat of a witness. If the witness did not change since the
// observation began, the observation is based on it.
func (x *remembered) witnessed(p *lookcache.Path, began time.Time) bool {
	if p.Racy(began) {
		return false
	}
	if p.Stat.Type != image.Regular {
		return true
	}
	f, err := capture.Look(x.host, p.Path, nil)
	return err == nil && setSum(p, f.Digest)
}

func setSum(p *lookcache.Path, digest string) bool {
	sum, err := hex.DecodeString(strings.TrimPrefix(digest, "sha256:"))
	return err == nil && copy(p.Sum[:], sum) == len(p.Sum)
}
