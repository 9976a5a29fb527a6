package content

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sync"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/repo"
)

// ErrRefused is in the chain of an error about content that is there and may not be
// used: no other answer of a hub makes it right.
var ErrRefused = errors.New("it is not believed")

// Library is the content of an agent: it gets what assignments name, believes it or
// does not, and makes the tree of it. Its fields are set before the first use; then it
// is safe for concurrent use.
type Library struct {
	Store   *Store
	Fetcher *Fetcher
	// Signers are whose commits are believed. nil takes what nobody signed.
	Signers *Signers
	// Now is the target's time, in seconds since 1970.
	Now func() int64

	mu       sync.Mutex
	floors   Floors
	verified map[string]bool // parts of assignments, in this process
	keep     map[string]bool // nil until somebody said
}

// partsOf are the top and the modules of an assignment.
func partsOf(a fleet.Assignment) []fleet.Assigned {
	return append([]fleet.Assigned{a.Top}, a.Modules...)
}

// Fetch gets what is missing of an assignment, and verifies all of it. It asks nobody
// when nothing is missing, and may be called again after any error.
func (l *Library) Fetch(ctx context.Context, a fleet.Assignment) error {
	for _, m := range partsOf(a) {
		if err := l.fetch(ctx, a, m.Bundle); err != nil {
			return err
		}
		if l.Signers == nil {
			continue
		}
		if m.Proof == nil {
			return fmt.Errorf("cannot take %s at commit %.12s: this target takes signed content only, and the hub gives no proof: %w", partName(m.Module), m.Revision.Commit, ErrRefused)
		}
		if err := l.fetch(ctx, a, *m.Proof); err != nil {
			return err
		}
	}
	return l.verify(a)
}

// fetch gets one, and makes room for it where nothing that is needed has to go.
func (l *Library) fetch(ctx context.Context, a fleet.Assignment, b fleet.Bundle) error {
	err := l.Fetcher.Fetch(ctx, b)
	if !errors.Is(err, ErrFull) {
		return err
	}
	needed := map[string]bool{}
	for _, m := range partsOf(a) {
		if needed[m.Bundle.Digest] = true; m.Proof != nil {
			needed[m.Proof.Digest] = true
		}
	}
	l.mu.Lock()
	keep := l.keep
	l.mu.Unlock()
	if keep == nil {
		return err
	}
	if _, err := l.Store.Collect(func(d string) bool { return keep[d] || needed[d] }, b.Size); err != nil {
		return err
	}
	return l.Fetcher.Fetch(ctx, b)
}

// verify believes all parts of an assignment or none: then no floor has changed.
func (l *Library) verify(a fleet.Assignment) error {
	if l.Signers == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.load(); err != nil {
		return err
	}
	next, changed := Floors{}, false
	for k, v := range l.floors {
		next[k] = v
	}
	var done []string
	for _, m := range partsOf(a) {
		key := fmt.Sprintf("%s %s %q %q", m.Bundle.Digest, m.Revision.Commit, m.Revision.Repository, m.Module)
		if l.verified[key] {
			continue
		}
		s, err := l.verifyPart(a, m)
		if err != nil {
			return err
		}
		was := next.Of(m.Revision.Repository, m.Module)
		next.Take(m.Revision.Repository, m.Module, s)
		changed = changed || next.Of(m.Revision.Repository, m.Module) != was
		done = append(done, key)
	}
	if changed {
		if err := l.save(next); err != nil {
			return err
		}
		l.floors = next
		clear(l.verified) // what was above the floor may be below it now
	}
	for _, key := range done {
		l.verified[key] = true
	}
	return nil
}

func (l *Library) verifyPart(a fleet.Assignment, m fleet.Assigned) (Signed, error) {
	if m.Proof == nil {
		return Signed{}, fmt.Errorf("cannot take %s: it comes without a proof: %w", partName(m.Module), ErrRefused)
	}
	text, err := l.Store.Read(*m.Proof, MaxProof)
	if err != nil {
		return Signed{}, err
	}
	p, err := ParseProof(text)
	if err != nil {
		return Signed{}, fmt.Errorf("%w: %w", err, ErrRefused)
	}
	b, end, err := OpenBundle(l.Store, m.Bundle)
	if errors.Is(err, fleet.ErrNotFound) {
		return Signed{}, err
	}
	if err != nil {
		return Signed{}, fmt.Errorf("%w: %w", err, ErrRefused)
	}
	c := Claim{m.Revision.Repository, m.Revision.Commit, m.Module, m.Permit, a.Name, a.Labels}
	t := Trust{Signers: *l.Signers, Floor: l.floors.Of(m.Revision.Repository, m.Module), Now: l.Now()}
	s, err := Verify(p, b, c, t)
	if err != nil {
		err = fmt.Errorf("%w: %w", err, ErrRefused)
	}
	return s, errors.Join(err, end())
}

// Tree makes the tree of a target from what is there: its own enrolment, the top, and
// its modules but for those that are absent. The caller calls closing when nothing reads
// the tree any more. It asks nobody.
func (l *Library) Tree(a fleet.Assignment, absent []string) (tree repo.Tree, closing func() error, err error) {
	if err := l.verify(a); err != nil {
		return nil, nil, err
	}
	var ends []func() error
	closing = func() (err error) {
		for _, end := range ends {
			err = errors.Join(err, end())
		}
		return err
	}
	parts := map[string]repo.Tree{}
	for _, m := range partsOf(a) {
		if m.Module != Top && slices.Contains(absent, m.Module) {
			continue
		}
		b, end, err := OpenBundle(l.Store, m.Bundle)
		if err != nil {
			return nil, nil, errors.Join(err, closing())
		}
		ends = append(ends, end)
		parts[m.Module] = b.Tree()
	}
	top := parts[Top]
	delete(parts, Top)
	tree, err = Compose(top, parts, map[string]map[string]string{a.Name: a.Labels})
	if err != nil {
		return nil, nil, errors.Join(err, closing())
	}
	return tree, closing, nil
}

// Retain says which content is needed, by digest. Others may go, and do when there is no
// room.
func (l *Library) Retain(digests []string) error {
	keep := map[string]bool{}
	for _, d := range digests {
		keep[d] = true
	}
	l.mu.Lock()
	l.keep = keep
	l.mu.Unlock()
	_, err := l.Store.Collect(func(d string) bool { return keep[d] }, 0)
	return err
}

// floorsFile is beside the content: repository, a NUL and part, to seconds since 1970.
func (l *Library) floorsFile() string { return path.Join(l.Store.dir, "floors.json") }

// load reads the floors. The lock is held.
func (l *Library) load() error {
	if l.floors != nil {
		return nil
	}
	f, err := l.Store.fs.Open(l.floorsFile())
	if errors.Is(err, fs.ErrNotExist) {
		l.floors, l.verified = Floors{}, map[string]bool{}
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot read which commits this target had: %w", err)
	}
	defer f.Close()
	floors := Floors{}
	if err := json.NewDecoder(f).Decode(&floors); err != nil {
		return fmt.Errorf("cannot read %s, which says how old a commit may be: %w; remove it if you believe the hub now", l.floorsFile(), err)
	}
	l.floors, l.verified = floors, map[string]bool{}
	return nil
}

// save makes floors durable. The lock is held.
func (l *Library) save(floors Floors) error {
	text, err := json.Marshal(floors)
	if err != nil {
		return err
	}
	files, temp := l.Store.fs, path.Join(l.Store.dir, "new", "floors")
	if err := files.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := files.Create(temp)
	if err != nil {
		return fmt.Errorf("cannot keep which commits this target had: %w", err)
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = files.Rename(temp, l.floorsFile())
	}
	if err == nil {
		err = files.SyncDir(l.Store.dir)
	}
	if err != nil {
		return fmt.Errorf("cannot keep which commits this target had: %w", err)
	}
	return nil
}
