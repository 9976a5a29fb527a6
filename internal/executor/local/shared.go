package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
	"unicode/utf8"

	"fettle.dev/fettle/internal/apply"
	"fettle.dev/fettle/internal/capture"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/statcache"
	"fettle.dev/fettle/internal/step"
)

// quiet refuses to look at a machine in the middle of a run.
func (x *shared) quiet() error {
	run, open, err := x.store.Unfinished()
	if err != nil || !open {
		return err
	}
	l, err := x.lock(executor.Options{})
	if err != nil {
		return err
	}
	defer l.Close()
	return fmt.Errorf("run %d was interrupted; to finish or undo it, run: fettle recover", run)
}

// saveCache writes the stat cache; failing to costs only time.
func (x *shared) saveCache() {
	if x.cache == nil || !x.cache.Dirty() {
		return
	}
	st, err := x.store.State()
	if err != nil {
		return
	}
	managed := make(map[string]bool, len(st.Entries))
	for _, e := range st.Entries {
		managed[e.Addr.Path()] = true
	}
	if err := x.cache.Save(func(p string) bool { return managed[p] }); err != nil && !errors.Is(err, context.Canceled) {
		return
	}
}

// listOf reads the list of a state; it is empty if the state has none.
func (x *shared) listOf(st journal.State) (step.List, error) {
	text, err := x.listText(st)
	if err != nil {
		return nil, err
	}
	l, ds := step.Parse(fmt.Sprintf("list of run %d", st.Run), text)
	return l, ds.Err()
}

func (x *shared) listText(st journal.State) ([]byte, error) {
	if st.List == "" {
		return nil, nil
	}
	text, err := x.store.ReadObject(st.List)
	if err != nil {
		return nil, fmt.Errorf("cannot read the list of run %d: %w", st.Run, err)
	}
	return text, nil
}

// actsOf reads the actions from the list of a state; a plan needs no other steps of it. A
// stored list has one step per line.
func (x *shared) actsOf(st journal.State) (step.List, error) {
	text, err := x.listText(st)
	if err != nil {
		return nil, err
	}
	var acts []byte
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(line, []byte(step.Act+" ")) {
			acts = append(acts, line...)
		}
	}
	l, ds := step.Parse(fmt.Sprintf("actions of run %d", st.Run), acts)
	return l, ds.Err()
}

func (x *shared) stateAt(run int) (journal.State, error) {
	if run == 0 {
		return journal.State{Format: 1}, nil
	}
	st, err := x.store.StateAt(run)
	if err != nil {
		return st, fmt.Errorf("cannot read the state after run %d; to list the stored runs: fettle log: %w", run, err)
	}
	return st, nil
}

// trusted is the stat cache. With verify, the cache is only written, so that every byte
// is read.
func (x *shared) trusted(verify bool) capture.Digests {
	if verify {
		return blind{lazily{x}}
	}
	return lazily{x}
}

func (x *shared) isDir(p string) bool {
	st, err := x.host.Lstat(p)
	return err == nil && st.Type == image.Directory
}

// kept lists a stored tree. An unreadable tree is reported when it is restored.
func (x *shared) kept(tree string) []plan.TreeFile {
	var out []plan.TreeFile
	first := map[string]image.File{}
	_ = capture.ReadTree(x.store, tree, func(e capture.TreeEntry) error {
		f := e.File
		if len(e.Same) > 0 { // another hard link of an inode, which is listed under its first name
			f = first[string(e.Same)]
		}
		f.Nlink = 0
		first[string(e.Rel)] = f
		out = append(out, plan.TreeFile{Rel: string(e.Rel), File: f})
		return nil
	})
	return out
}

func (x *shared) lookFile(p string) (image.File, error) {
	return capture.Look(x.host, p, x.trusted(false))
}

func (x *shared) object(digest string, into any) error {
	b, err := x.store.ReadObject(digest)
	if err != nil {
		return err
	}
	return journal.Unmarshal(b, into)
}

// content is the text of a blob, wherever it is.
func (x *shared) content(digest string, blobs map[string]kind.Blob) (string, bool) {
	if digest == "" {
		return "", true
	}
	if b, ok := blobs[digest]; ok {
		if b.Tree == nil {
			return text(bytes.NewReader(b.Data))
		}
		r, err := b.Tree.Open(b.Path)
		if err != nil {
			return "", false
		}
		defer r.Close()
		return text(r)
	}
	if !x.store.Has(digest) {
		return "", false
	}
	r, _, err := x.store.Open(digest)
	if err != nil {
		return "", false
	}
	defer r.Close()
	return text(r)
}

func (x *shared) digests() *statcache.Cache {
	x.loading.Do(func() { x.cache = statcache.Load(x.store.FS(), x.now) })
	return x.cache
}

// lazily is the stat cache, read on first use.
type lazily struct{ *shared }

// Digest implements capture.Digests.
func (l lazily) Digest(path string, st host.Stat) (string, bool) {
	return l.digests().Digest(path, st)
}

// Remember implements capture.Digests.
func (l lazily) Remember(path string, st host.Stat, digest string) {
	l.digests().Remember(path, st, digest)
}

// lock takes the one lock. The error says who holds it.
func (x *shared) lock(o executor.Options) (io.Closer, error) {
	holder := fmt.Sprintf("%s (process %d) by %s since %s", orElse(o.Command, "fettle"), os.Getpid(),
		orElse(o.User, "an unknown user"), x.now().Format(time.RFC3339))
	l, err := x.store.Lock(holder)
	var locked *host.LockedError
	if errors.As(err, &locked) {
		return nil, fmt.Errorf("%w: %s; wait until it ends, then try again", executor.ErrLocked, locked.Holder)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot take the lock: %w", err)
	}
	return l, nil
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// runner makes what runs a plan.
func (x *shared) runner(o executor.Options, show func(executor.Event)) *apply.Runner {
	if show == nil {
		show = func(executor.Event) {}
	}
	return &apply.Runner{Host: x.host, Store: x.store, Net: x.net, Digests: lazily{x}, Names: x.names,
		Show: show, Now: x.now, Armed: o.ConfirmWithin, OnCheckFailure: o.OnCheckFailure, OnCrash: o.OnCrash,
		Sections: o.Sections, Mask: x.keys.mask}
}

// header begins the record of a run.
func (x *shared) header(p *plan.Plan, o executor.Options) (journal.Header, error) {
	n, err := x.store.NextRun()
	if err != nil {
		return journal.Header{}, fmt.Errorf("cannot number the run: %w", err)
	}
	return journal.Header{Format: 1, Run: n, Operation: p.Operation, Base: p.Base, To: p.To, Revision: p.Revision,
		OnFailure: orElse(o.OnFailure, apply.FailureStop), OnCrash: orElse(o.OnCrash, apply.CrashUndo),
		User: o.User, From: o.From, Command: o.Command, Version: o.Version, PID: os.Getpid(), BootID: x.host.BootID(),
		Continues: o.Continues, Partial: p.More()}, nil
}

// report converts a result to the report for users, and its outcome to an error that ui
// turns into an exit code.
func report(res apply.Result, began, ended time.Time, err error) (*executor.Report, error) {
	rep := &executor.Report{Run: res.Run, Outcome: res.Outcome, Changed: res.Changed, Failed: res.Failed,
		Rescued: res.Rescued, Checks: res.Checks,
		Notes: res.Notes, Remaining: res.Remaining, NotUndone: res.NotUndone, Duration: ended.Sub(began)}
	for _, p := range res.State.Pending {
		rep.Pending = append(rep.Pending, p.Addr)
	}
	if err != nil {
		return rep, err
	}
	switch res.Outcome {
	case journal.Failed:
		if rep.InPart() {
			return rep, fmt.Errorf("run %d is only partly done, without the states that depend on the failure: %s", res.Run,
				why(res.Failed))
		}
		return rep, fmt.Errorf("run %d failed: %s", res.Run, why(res.Failed))
	case journal.CheckFailed:
		return rep, fmt.Errorf("run %d: %w: %s", res.Run, executor.ErrCheckFailed, why(res.Failed))
	case journal.RolledBack:
		return rep, fmt.Errorf("run %d was %w: %s", res.Run, executor.ErrUndone, why(res.Failed))
	case journal.Interrupted:
		return rep, fmt.Errorf("run %d was interrupted: %w", res.Run, context.Canceled)
	}
	return rep, nil
}

func why(f *apply.Failure) string {
	switch {
	case f == nil:
		return "it was interrupted"
	case f.Addr == "":
		return f.Error
	}
	return fmt.Sprintf("%s: %s", f.Addr, f.Error)
}

// blind knows nothing and remembers all.
type blind struct{ capture.Digests }

func text(r io.Reader) (string, bool) {
	b, err := io.ReadAll(io.LimitReader(r, diffLimit+1))
	if err != nil || len(b) > diffLimit || !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0 {
		return "", false
	}
	return string(b), true
}

// diffLimit is up to which size content is compared line by line, in bytes.
const diffLimit = 256 << 10
