package local_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/capture"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/local"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/fault"
	hostlocal "fettle.dev/fettle/internal/host/local"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/step"
)

// fataler is what both testing.T and rapid.T can do.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// world is a machine with an engine on it, and a second way in that nobody
// counts, for the test itself.
type world struct {
	t     fataler
	h     host.Host // as the engine sees it: every mutation is counted
	aside host.Host // as the test sees it
	ops   *fault.Recorder
	hits  *touches
	state host.FS
	x     executor.Executor
	skip  string // a tree that snapshots leave out
	fake  bool   // in memory, with packages and units
	root  string // on disk
}

const passwd = "root:x:0:0:root:/root:/bin/bash\nwww:x:33:33::/:/bin/sh\nann:x:1000:1000:Ann:/home/ann:/bin/sh\n"

// base is what every machine of these tests has.
var base = map[string]string{
	"/etc/passwd": passwd, "/etc/group": "root:x:0:\nwww:x:33:\nann:x:1000:\n",
	"/etc/shadow":  "root:*:19000:0:99999:7:::\nwww:*:19000:0:99999:7:::\nann:*:19000:0:99999:7:::\n",
	"/etc/gshadow": "root:*::\nwww:*::\nann:*::\n", "/m/.keep": "", "/home/.keep": "",
}

func newWorld(t fataler) *world {
	w := &world{t: t, ops: &fault.Recorder{}, hits: &touches{}, fake: true}
	m := mem.New(mem.Options{Count: fault.Chain(w.ops.Count, w.hits.count), Run: marks})
	w.h, w.aside = m, m
	for _, p := range slices.Sorted(maps.Keys(base)) {
		w.mkdirs(path.Dir(p))
		w.write(p, base[p])
	}
	for _, p := range []string{"p1", "p2"} {
		m.Repository().Publish(mem.Release{Name: p, Version: "1"})
		m.Repository().Publish(mem.Release{Name: p, Version: "2"})
	}
	m.Services().Define("s1.service", image.Unit{Loaded: true, State: "disabled", Active: "inactive"})
	w.state = mem.New(mem.Options{})
	w.open()
	return w
}

// onDisk is a world in a directory, for root.
func onDisk(t fataler, root string) *world {
	t.Helper()
	w := &world{t: t, ops: &fault.Recorder{}, hits: &touches{}, skip: "/var", root: root}
	w.h, w.aside = openDisk(t, root, fault.Chain(w.ops.Count, w.hits.count)), openDisk(t, root, nil)
	for _, p := range slices.Sorted(maps.Keys(base)) {
		w.mkdirs(path.Dir(p))
		w.write(p, base[p])
	}
	w.mkdirs("/var/lib/fettle")
	w.state = openDisk(t, root+"/var/lib/fettle", nil)
	w.open()
	return w
}

func openDisk(t fataler, root string, count host.OperationHook) host.Host {
	t.Helper()
	h, err := hostlocal.Open(root, hostlocal.Options{Count: count})
	if err != nil {
		t.Fatalf("%v", err)
	}
	return h
}

func (w *world) close() {
	for _, c := range []any{w.h, w.aside, w.state} {
		if c, ok := c.(io.Closer); ok {
			w.must(c.Close())
		}
	}
}

// marks plays the programs mark and unmark, which make and remove a file.
func marks(_ context.Context, h *mem.Host, c host.Command) (host.CommandResult, error) {
	switch c.Argv[0] {
	case "mark":
		f, err := h.Create(c.Argv[1])
		if err != nil {
			return host.CommandResult{ExitCode: 1, Stderr: []byte(err.Error())}, nil
		}
		return host.CommandResult{}, f.Close()
	case "unmark":
		if err := h.Remove(c.Argv[1]); err != nil {
			return host.CommandResult{ExitCode: 1, Stderr: []byte(err.Error())}, nil
		}
	case "false":
		return host.CommandResult{ExitCode: 1}, nil
	}
	return host.CommandResult{}, nil
}

// open opens the engine anew, as the next process would.
func (w *world) open() {
	w.t.Helper()
	if err := w.tryOpen(); err != nil {
		w.t.Fatalf("open: %v", err)
	}
}

func (w *world) tryOpen() error {
	o := local.Options{Now: time.Now, Ballast: -1}
	if w.fake { // its clock never gives one time twice, so nothing is racy
		o.Program, o.Now = "test", func() time.Time { return time.Now().Add(time.Hour) }
	}
	x, err := local.New(w.h, w.state, o)
	if err == nil {
		w.x = asked(w.t, x)
	}
	return err
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatalf("%v", err)
	}
}

func (w *world) mkdirs(p string) {
	if p == "/" {
		return
	}
	w.mkdirs(path.Dir(p))
	if err := w.aside.Mkdir(p, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		w.must(err)
	}
}

// write makes or replaces a file behind the engine's back.
func (w *world) write(p, text string) {
	w.t.Helper()
	if err := w.aside.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.must(err)
	}
	f, err := w.aside.Create(p)
	w.must(err)
	_, err = f.Write([]byte(text))
	w.must(errors.Join(err, f.Chmod(0o644), f.Close()))
}

// snapshot is everything on the machine: paths, accounts, packages, units.
type snapshot map[string]string

// look takes a snapshot. Modification times of directories are left out: they
// follow from what happens in them.
func (w *world) look() snapshot {
	w.t.Helper()
	if w.root != "" { // an open host trusts for a moment the directories that it knows
		w.must(w.aside.(io.Closer).Close())
		w.aside = openDisk(w.t, w.root, nil)
	}
	s := snapshot{}
	inodes := map[[2]uint64]string{}
	w.walk("/", s, inodes)
	if !w.fake {
		return s
	}
	if p, err := w.aside.Packages(); err == nil {
		all, err := p.Installed(context.Background(), []string{"p1", "p2"})
		w.must(err)
		for n, one := range all {
			s["pkg:"+n] = fmt.Sprintf("%s held=%v", one.Version, one.Held)
		}
	}
	if u, err := w.aside.Units(); err == nil {
		one, err := u.Unit(context.Background(), "s1.service")
		w.must(err)
		s["unit:s1.service"] = fmt.Sprintf("%+v", one)
	}
	return s
}

func (w *world) walk(dir string, s snapshot, inodes map[[2]uint64]string) {
	names, err := w.aside.ReadDir(dir)
	w.must(err)
	for _, n := range names {
		p := path.Join(dir, n)
		if p == w.skip || strings.HasPrefix(n, ".pwd.lock") {
			continue
		}
		f, err := capture.Whole(w.aside, p)
		w.must(err)
		first := ""
		if f.Nlink > 1 {
			id := [2]uint64{f.Stat.Dev, f.Stat.Ino}
			if first = inodes[id]; first == "" {
				inodes[id], first = p, p
			}
		}
		if f.Type == image.Directory {
			f.MTime = 0
		}
		s[p] = describe(f.File, first)
		if f.Type == image.Regular && f.Size < 1<<10 {
			s[p+linesOf] = w.lines(p)
		}
		if f.Type == image.Directory {
			w.walk(p, s, inodes)
		}
	}
}

// linesOf marks what a snapshot has of the lines of a file, in whichever order.
const linesOf = " (lines)"

func (w *world) lines(p string) string {
	f, err := w.aside.Open(p)
	w.must(err)
	b, err := io.ReadAll(f)
	w.must(errors.Join(err, f.Close()))
	l := strings.Split(string(b), "\n")
	slices.Sort(l)
	return strings.Join(l, "\n")
}

func describe(f image.File, first string) string {
	var x []string
	for _, k := range slices.Sorted(maps.Keys(f.Xattrs)) {
		x = append(x, fmt.Sprintf("%s=%x", k, f.Xattrs[k]))
	}
	return fmt.Sprintf("%s %04o %d:%d %d %.14s %q %v attrs=%x mtime=%d %q", f.Type, f.Mode, f.UID, f.GID, f.Size,
		f.Digest, f.Target, x, f.Attrs, f.MTime, first)
}

// differs lists what is not the same in two snapshots, but for the keys that
// skip accepts.
func differs(a, b snapshot, skip func(string) bool) []string {
	var out []string
	for k := range maps.Keys(a) {
		if a[k] != b[k] && !skip(k) {
			out = append(out, fmt.Sprintf("%q\n\twas %s\n\tis  %s", k, a[k], b[k]))
		}
	}
	for k := range maps.Keys(b) {
		if _, ok := a[k]; !ok && !skip(k) {
			out = append(out, fmt.Sprintf("%q\n\twas nothing\n\tis  %s", k, b[k]))
		}
	}
	slices.Sort(out)
	return out
}

func nothing(string) bool { return false }

// withoutTime drops the modification time from a description.
func withoutTime(s snapshot, of func(string) bool) snapshot {
	out := snapshot{}
	for k, v := range s {
		if of(k) {
			if i := strings.Index(v, " mtime="); i >= 0 {
				v = v[:i]
			}
		}
		out[k] = v
	}
	return out
}

// contents are what files of the tests hold; the last has a hole.
var contents = []string{"", "one\n", "two\nlines\n", "no end", "x=1\r\ny=2\r\n", strings.Repeat("\x00", 70<<10) + "end"}

// request makes a request of a list whose COPY sources are indexes of contents.
func request(t fataler, text string) executor.Request {
	t.Helper()
	blobs := map[string]kind.Blob{}
	for i, c := range contents {
		d := journal.DigestOf([]byte(c))
		blobs[d] = kind.Blob{Digest: d, Size: int64(len(c)), Data: []byte(c)}
		text = strings.ReplaceAll(text, fmt.Sprintf("COPY %d ", i), "COPY "+d+" ")
	}
	l, ds := step.Parse("list", []byte(text))
	if err := ds.Err(); err != nil {
		t.Fatalf("list: %v\n%s", err, text)
	}
	for i := range l {
		l[i].Source = fmt.Sprintf("list:%d", i+1)
	}
	return executor.Request{Target: "web1", Revision: repo.Revision{Digest: l.Digest()}, List: l, Blobs: blobs,
		Repair: true}
}
