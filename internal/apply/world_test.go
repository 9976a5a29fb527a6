package apply_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/local"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/fault"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/move"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/step"
)

// tap is what counts the operations of a world and of all its clones: one
// campaign runs one of them at a time.
type tap struct{ count host.OperationHook }

func (t *tap) Count(op, path string) error {
	if t.count == nil {
		return nil
	}
	return t.count(op, path)
}

// world is a machine and its state directory, in memory.
type world struct {
	tap     *tap
	h, st   *mem.Host
	breaker func(host.FS) host.FS // takes syncs away, to see the campaign fail
	plan    *fault.Plan           // strikes from outside, where reads and halves of writes can fail
}

func newWorld(t *testing.T) *world {
	t.Helper()
	tp := &tap{}
	w := &world{tap: tp, h: mem.New(mem.Options{Count: tp.Count, Run: programs}),
		st: mem.New(mem.Options{Count: tp.Count})}
	for p, text := range map[string]string{
		"/etc/passwd": "root:x:0:0:root:/root:/bin/bash\nbob:x:1000:1000::/home/bob:/bin/sh\n",
		"/etc/shadow": "root:*:1::::::\nbob:*:1::::::\n",
		"/etc/group":  "root:x:0:\nadm:x:4:\nbob:x:1000:\n", "/etc/gshadow": "root:*::\nadm:*::\nbob:!::\n",
		"/etc/hosts": "127.0.0.1 localhost\n", "/etc/sysctl.conf": "# nothing\nvm.x=1", "/etc/app.conf": "origin",
		"/srv/theirs": "theirs", "/srv/updated": "origin", "/srv/same": "same", "/srv/old-file": "old",
		"/srv/tree/a": "a", "/srv/tree/sub/b": "b", "/srv/tree/sub/deep/c": "c",
		"/srv/purged/foreign": "f", "/srv/purged/dir/x": "x", "/srv/f2d": "was a file", "/srv/f2l": "was a file",
		"/etc/checked": "good origin", "/home/bob/.profile": "bob's", "/run/.keep": "", "/var/lib/.keep": "",
	} {
		w.write(t, p, text)
	}
	w.mkdir(t, "/srv/d2f")
	w.mkdir(t, "/srv/d2l")
	w.mkdir(t, "/usr/bin")
	w.mkdir(t, "/usr/lib")
	w.mkdir(t, "/usr/sbin")
	must(t, w.h.Symlink("target", "/srv/l2f"))
	w.dress(t, "/srv/updated", func(n host.Node) error {
		return errors.Join(n.Chown(7, 8), n.Chmod(0o4755), n.SetXattr("user.k", []byte("v")))
	})
	w.dress(t, "/srv/theirs", func(n host.Node) error {
		return errors.Join(n.Chmod(0o2640),
			n.SetXattr("user.t", []byte("t")))
	})
	w.dress(t, "/srv/tree/sub", func(n host.Node) error { return errors.Join(n.Chown(5, 6), n.Chmod(0o1700)) })
	must(t, w.h.Link("/srv/tree/a", "/srv/tree/hard"))
	w.h.Repository().Publish(mem.Release{Name: "lib", Version: "1", Files: map[string]string{"/usr/lib/lib": "lib1"}})
	w.h.Repository().Publish(mem.Release{Name: "web", Version: "1", Depends: []string{"lib"},
		Files: map[string]string{"/usr/sbin/web": "web1"}})
	w.h.Repository().Publish(mem.Release{Name: "web", Version: "2", Depends: []string{"lib"},
		Files: map[string]string{"/usr/sbin/web": "web2"}})
	w.h.Repository().Publish(mem.Release{Name: "tool", Version: "1", Files: map[string]string{"/usr/bin/tool": "tool1"}})
	for _, v := range []string{"1", "2"} { // each needs the other at its own version
		w.h.Repository().Publish(mem.Release{Name: "base", Version: v, Depends: []string{"common"},
			Files: map[string]string{"/usr/lib/base": "base" + v, "/usr/lib/base." + v: v}})
		w.h.Repository().Publish(mem.Release{Name: "client", Version: v, Depends: []string{"base (= " + v + ")"},
			Files: map[string]string{"/usr/bin/client": "client" + v}})
	}
	w.h.Repository().Publish(mem.Release{Name: "common", Version: "1",
		Files: map[string]string{"/usr/lib/common": "common"}})
	w.h.Repository().Publish(mem.Release{Name: "plugin", Version: "1", Depends: []string{"extra", "base (= 2)"},
		Files: map[string]string{"/usr/lib/plugin": "plugin"}})
	w.h.Repository().Publish(mem.Release{Name: "extra", Version: "1", Files: map[string]string{"/usr/lib/extra": "extra"}})
	w.h.Services().Define("app.service", image.Unit{Loaded: true, State: "disabled", Active: "inactive"})
	must(t, errors.Join(w.h.SyncFS("/"), w.st.SyncFS("/")))
	return w
}

// programs plays what EXEC, ACT and validations run.
func programs(_ context.Context, h *mem.Host, c host.Command) (res host.CommandResult, err error) {
	switch path.Base(c.Argv[0]) {
	case "makedb": // twice would be seen
		text, _ := read(h, "/srv/db")
		err = errors.Join(put(h, "/srv/db", text+"made"), h.SyncFS("/")) // as a database does
	case "dropdb":
		err = h.Remove("/srv/db")
	case "load": // a daemon that reads its configuration
		text, _ := read(h, "/etc/app.conf")
		err = errors.Join(put(h, "/run/loaded", text), h.SyncFS("/"))
	case "check":
		text, _ := read(h, c.Argv[1])
		if !strings.HasPrefix(text, "good") {
			res.ExitCode = 1
		}
	default:
		err = fs.ErrNotExist
	}
	return res, err
}

func put(f host.FS, p, text string) error {
	if err := f.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := f.Create(p)
	if err != nil {
		return err
	}
	_, err = file.Write([]byte(text))
	return errors.Join(err, file.Chmod(0o644), file.Close())
}

func read(f host.Reader, p string) (string, error) {
	file, err := f.Open(p)
	if err != nil {
		return "", err
	}
	defer file.Close()
	b, err := io.ReadAll(file)
	return string(b), err
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) mkdir(t *testing.T, p string) {
	t.Helper()
	if there, err := host.Exists(w.h, p); err != nil || there {
		must(t, err)
		return
	}
	w.mkdir(t, path.Dir(p))
	must(t, w.h.Mkdir(p, 0o755))
}

func (w *world) write(t *testing.T, p, text string) {
	t.Helper()
	w.mkdir(t, path.Dir(p))
	must(t, put(w.h, p, text))
}

func (w *world) dress(t *testing.T, p string, how func(host.Node) error) {
	t.Helper()
	n, err := w.h.OpenNode(p)
	must(t, err)
	must(t, errors.Join(how(n), n.Close()))
}

// crash is the world after a power cut now.
func (w *world) crash(rng *rand.Rand) *world {
	return &world{tap: w.tap, h: w.h.Crash(rng), st: w.st.Crash(rng), breaker: w.breaker}
}

// copy is the same world once more; everything in it becomes durable.
func (w *world) copy() *world {
	quiet := w.tap.count
	w.tap.count = nil
	defer func() { w.tap.count = quiet }()
	if err := errors.Join(w.h.SyncFS("/"), w.st.SyncFS("/")); err != nil {
		panic(err)
	}
	return w.crash(rand.New(rand.NewPCG(0, 0)))
}

// open starts the engine, as a new process would.
func (w *world) open() (*local.Executor, error) {
	if w.breaker != nil {
		return local.New(unsynced{w.h, w.breaker(w.h)}, lockedFS{w.breaker(w.st), w.st}, options())
	}
	if w.plan != nil {
		return local.New(fault.Wrap(w.h, w.plan), fault.Wrap(w.st, w.plan), options())
	}
	return local.New(w.h, w.st, options())
}

// unsynced is a host with the files of another.
type unsynced struct {
	host.Host
	files host.FS
}

func (u unsynced) SyncFS(p string) error  { return u.files.SyncFS(p) }
func (u unsynced) SyncDir(p string) error { return u.files.SyncDir(p) }

type lockedFS struct {
	host.FS
	host.Locker
}

// request makes a request of a list whose sources are "name:content".
func request(t testing.TB, list string) executor.Request {
	t.Helper()
	list, blobs := referring(strings.ReplaceAll(list, "sealed=KEY", "sealed="+sealing().key.ID()))
	l, ds := step.Parse("list", []byte(list))
	must(t, ds.Err())
	tree := fstest.MapFS{}
	for _, s := range l {
		if s.Verb != step.Copy {
			continue
		}
		text := []byte(strings.ReplaceAll(s.Args[0], "_", " "))
		if s.Get("sealed") != "" {
			text = sealing().key.Seal(text)
		}
		tree[s.Args[0]] = &fstest.MapFile{Data: text}
		blobs[journal.DigestOf(text)] = kind.Blob{Digest: journal.DigestOf(text), Size: int64(len(text)), Data: text}
	}
	l, ds = step.Resolve(l, step.Directory{FS: tree})
	must(t, ds.Err())
	return executor.Request{Target: "m", Revision: repo.Revision{Digest: l.Digest()}, List: l, Blobs: blobs,
		Secrets: sealing().bundle, Repair: true}
}

func (w *world) apply(t testing.TB, list string, o executor.Options) (*executor.Report, error) {
	x, err := w.open()
	if err != nil {
		return nil, err
	}
	return x.Apply(context.Background(), request(t, list), nil, o, nil)
}

func (w *world) recover(o executor.Options) (string, error) {
	x, err := w.open()
	if err != nil {
		return "", err
	}
	rep, err := x.Recover(context.Background(), o, nil)
	if rep == nil {
		return "nothing to recover", err
	}
	return fmt.Sprintf("%s %+v %v stays %v", rep.Outcome, rep.Failed, rep.Notes, rep.NotUndone), err
}

func (w *world) rollback(to int) error {
	x, err := w.open()
	if err != nil {
		return err
	}
	_, err = x.Rollback(context.Background(), executor.RollbackRequest{To: to, CrossIrreversible: true}, nil,
		executor.Options{}, nil)
	return err
}

// picture is everything that can be seen of a machine, by path. MTimes are
// apart: what a run writes anew has the time of that run.
type picture struct {
	at    map[string]string
	mtime map[string]int64
	temps []string
}

func (w *world) picture(t testing.TB, units bool) picture {
	t.Helper()
	p := picture{at: map[string]string{}, mtime: map[string]int64{}}
	p.walk(t, w.h, "/", map[uint64]string{})
	packages, err := w.h.Repository().Installed(context.Background(),
		[]string{"web", "lib", "tool", "base", "client", "common", "plugin", "extra"})
	must(t, err)
	for name, one := range packages {
		p.at["pkg:"+name] = fmt.Sprintf("%s %v %s", one.Version, one.Held, one.Status)
	}
	u, err := w.h.Services().Unit(context.Background(), "app.service")
	must(t, err)
	if p.at["unit:app"] = fmt.Sprintf("%s %v", u.State, u.Masked); units {
		p.at["unit:app"] += " " + u.Active
	}
	return p
}

func (p *picture) walk(t testing.TB, f host.Reader, dir string, inodes map[uint64]string) {
	t.Helper()
	names, err := f.ReadDir(dir)
	must(t, err)
	for _, name := range names {
		full := path.Join(dir, name)
		if full == "/run" || full == "/lock" || full == "/var/cache" {
			continue // what does not outlive a boot
		}
		if move.IsTemp(name) || strings.HasSuffix(name, ".fettle-new") {
			p.temps = append(p.temps, full)
		}
		st, err := f.Lstat(full)
		must(t, err)
		p.look(t, f, full, st, inodes)
		if st.Type == image.Directory {
			p.walk(t, f, full, inodes)
		}
	}
}

func (p *picture) look(t testing.TB, f host.Reader, full string, st host.Stat, inodes map[uint64]string) {
	t.Helper()
	x, err := f.Xattrs(full)
	must(t, err)
	line := fmt.Sprintf("%s %d:%d", st.Type, st.UID, st.GID)
	if st.Type != image.Symlink {
		line += fmt.Sprintf(" %o", st.Mode)
	}
	for _, k := range slices.Sorted(maps.Keys(x)) {
		line += fmt.Sprintf(" %s=%q", k, x[k])
	}
	switch st.Type {
	case image.Regular:
		text, err := read(f, full)
		must(t, err)
		sum := sha256.Sum256([]byte(text))
		line += fmt.Sprintf(" %.20q %s", text, hex.EncodeToString(sum[:4]))
	case image.Symlink:
		to, err := f.Readlink(full)
		must(t, err)
		line += " -> " + to
	}
	if first, ok := inodes[st.Ino]; ok {
		line += " hard link of " + first
	}
	inodes[st.Ino] = full
	p.at[full] = line
	if st.Type != image.Directory && !byPrograms(full) {
		p.mtime[full] = st.MTime
	}
}

// differs lists what is neither as in any of the pictures. Times count where
// strict says so and the path has the same in all of them.
func (p picture) differs(strict bool, wants ...picture) []string {
	all := map[string]bool{}
	for _, q := range append(wants, p) {
		for k := range q.at {
			all[k] = true
		}
	}
	var out []string
	for _, k := range slices.Sorted(maps.Keys(all)) {
		if !slices.ContainsFunc(wants, func(q picture) bool { return p.same(q, k, strict) }) {
			out = append(out, fmt.Sprintf("%s is %q, want %q (mtime %d, %d)", k, p.at[k], wants[0].at[k], p.mtime[k],
				wants[0].mtime[k]))
		}
	}
	return append(out, p.temps...)
}

func (p picture) same(q picture, k string, strict bool) bool {
	if p.at[k] != q.at[k] {
		return false
	}
	return !strict || p.mtime[k] == q.mtime[k]
}

// byPrograms tells whether programs write a path, whose times are theirs.
func byPrograms(p string) bool {
	return strings.HasPrefix(p, "/usr/") || p == "/srv/db" ||
		slices.Contains([]string{"/etc/passwd", "/etc/shadow", "/etc/group", "/etc/gshadow",
			"/etc/hosts", "/etc/sysctl.conf", "/etc/new"}, p) // EDIT gives back its region, not the file's time
}
