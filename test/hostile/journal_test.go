package hostile

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path"
	"runtime/debug"
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
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/test/campaign"
)

const firstList = `GROUP deploy gid=1600
MKDIR /srv/www mode=0750
COPY a1 /srv/www/a mode=0640
COPY b1 /srv/www/b
LINK a /srv/www/l
COPY f1 /srv/f2d
MKDIR /srv/d2f
EDIT /etc/hosts block=web content="10.0.0.1 web\n"
RM /srv/old
`

const secondList = `GROUP deploy gid=1600
GROUP extra gid=1700
MKDIR /srv/www mode=0700
COPY a2 /srv/www/a mode=0600
LINK b /srv/www/l
COPY c2 /srv/www/c
MKDIR /srv/f2d
COPY f2 /srv/f2d/in
COPY f2 /srv/d2f
EDIT /etc/hosts block=web content="10.0.0.2 web\n"
RM /srv/old
RM /srv/tree
`

// pair is a machine and its state directory, in memory.
type pair struct{ h, st *mem.Host }

func (p pair) clone() pair {
	dice := rand.New(rand.NewPCG(0, 0))
	_ = p.h.SyncFS("/")
	_ = p.st.SyncFS("/")
	return pair{p.h.Crash(dice), p.st.Crash(dice)}
}

func newPair(t testing.TB, count host.OperationHook) pair {
	t.Helper()
	p := pair{mem.New(mem.Options{Count: count}), mem.New(mem.Options{Count: count})}
	for name, text := range map[string]string{
		"/etc/passwd": "root:x:0:0:root:/root:/bin/sh\n", "/etc/shadow": "root:*:1::::::\n", "/etc/group": "root:x:0:\n",
		"/etc/gshadow": "root:*::\n",
		"/etc/hosts":   "127.0.0.1 localhost\n", "/srv/old": "old", "/srv/tree/a": "a", "/srv/tree/sub/b": "b",
		"/srv/theirs": "theirs",
	} {
		mkdirs(p.h, path.Dir(name))
		must(t, put(p.h, name, []byte(text)))
	}
	return p
}

func mkdirs(f host.FS, dir string) {
	if dir != "/" {
		mkdirs(f, path.Dir(dir))
		_ = f.Mkdir(dir, 0o755)
	}
}

// put replaces a file.
func put(f host.FS, name string, b []byte) error {
	if err := f.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	w, err := f.Create(name)
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return errors.Join(err, w.Close())
}

func get(f host.Reader, name string) []byte {
	r, err := f.Open(name)
	if err != nil {
		return nil
	}
	defer r.Close()
	b, _ := io.ReadAll(r)
	return b
}

func (p pair) open() (*local.Executor, error) {
	return local.New(p.h, p.st, local.Options{Ballast: -1})
}

func (p pair) apply(t testing.TB, list string) error {
	t.Helper()
	x, err := p.open()
	if err != nil {
		return err
	}
	l, ds := step.Parse("list", []byte(list))
	must(t, ds.Err())
	tree, blobs := fstest.MapFS{}, map[string]kind.Blob{}
	for _, s := range l {
		if s.Verb == step.Copy {
			text := []byte("content of " + s.Args[0])
			tree[s.Args[0]] = &fstest.MapFile{Data: text}
			blobs[journal.DigestOf(text)] = kind.Blob{Digest: journal.DigestOf(text), Size: int64(len(text)), Data: text}
		}
	}
	l, ds = step.Resolve(l, step.Directory{FS: tree})
	must(t, ds.Err())
	_, err = x.Apply(context.Background(), executor.Request{Target: "m", Revision: repo.Revision{Digest: l.Digest()},
		List: l, Blobs: blobs, Repair: true}, nil, executor.Options{}, nil)
	return err
}

// seen is everything on a machine, by path.
func seen(f host.Reader, dir string, into map[string]string) map[string]string {
	names, _ := f.ReadDir(dir)
	for _, name := range names {
		full := path.Join(dir, name)
		st, err := f.Lstat(full)
		if err != nil {
			continue
		}
		line := fmt.Sprintf("%s %o %d:%d", st.Type, st.Mode, st.UID, st.GID)
		switch st.Type {
		case image.Regular:
			line += " " + string(get(f, full))
		case image.Symlink:
			to, _ := f.Readlink(full)
			line += " -> " + to
		case image.Directory:
			seen(f, full, into)
		}
		into[full] = line
	}
	return into
}

// wound is a machine whose second run was cut short, and all that its paths
// may ever be.
type wound struct {
	pair
	may []map[string]string
}

// wounds cuts the second run at some of its operations.
func wounds(t testing.TB, n int) []wound {
	t.Helper()
	var plan *fault.Plan
	calls := 0
	count := func(op, p string) error {
		calls++
		if plan != nil && calls >= plan.At {
			return fault.ErrCrashed
		}
		return nil
	}
	base := newPair(t, count)
	origin := seen(base.h, "/", map[string]string{})
	must(t, base.apply(t, firstList))
	before := seen(base.h, "/", map[string]string{})
	whole := base.clone()
	calls = 0
	must(t, whole.apply(t, secondList))
	total := calls
	after := seen(whole.h, "/", map[string]string{})
	var out []wound
	for i := range n {
		plan = nil
		p := base.clone()
		calls, plan = 0, &fault.Plan{At: 2 + (total-3)*i/max(n-1, 1)}
		_ = p.apply(t, secondList)
		plan = nil
		cut := p.clone() // what the crash left, torn where it was not synced
		out = append(out, wound{cut, []map[string]string{origin, before, after, seen(cut.h, "/", map[string]string{})}})
	}
	return out
}

// TestDamagedState breaks the state directory of a machine whose run was cut
// short, in every way that a disk or a hand can, and lets recovery and rollback
// loose on it. Every path is then what it was at some time, or they refused.
func TestDamagedState(t *testing.T) {
	all, todo := wounds(t, pick(8, 60)), numbers(600, 100_000)
	for i, w := range all { // what is not broken recovers
		_, err := act(w.clone(), rand.New(rand.NewPCG(1, uint64(i))))
		must(t, err)
	}
	points, lost, refused := len(todo), 0, 0
	for _, i := range todo {
		w := all[i%len(all)]
		p, rng := w.clone(), rand.New(rand.NewPCG(10, uint64(i))) // each point can be tried by itself
		what := damage(rng, p.st)
		said, err := act(p, rng)
		if err != nil {
			refused++
		}
		if wrong := w.wrong(p.h); len(wrong) > 0 || strings.Contains(said, "panic") {
			if lost++; lost < 6 {
				t.Errorf("point %d, %s: %s %v\n%s", i, what, said, err, strings.Join(wrong, "\n"))
			}
		}
	}
	if refused == 0 || refused == points {
		t.Errorf("%d of %d refused: that shows nothing", refused, points)
	}
	campaign.Record(t, campaign.Campaign{Name: "Damaged journals, states and objects", Variant: "recover and roll back",
		Points: points, Hit: refused, Lost: lost,
		Detail: "after an interrupted run, bits are flipped, files are cut, exchanged or removed, records are doubled, omitted, exchanged and sealed again; every path has one of its earlier states, or recovery refuses (in the run: refused)"})
}

// act recovers and goes back to the origin, and tells of a panic.
func act(p pair, rng *rand.Rand) (said string, err error) {
	defer func() {
		if r := recover(); r != nil {
			said, err = fmt.Sprintf("panic: %v\n%s", r, debug.Stack()), errors.New("panic")
		}
	}()
	x, err := p.open()
	if err != nil {
		return "cannot open", err
	}
	policy := []string{"undo", "finish"}[rng.IntN(2)]
	if _, err = x.Recover(context.Background(), executor.Options{OnCrash: policy}, nil); err != nil {
		return "recover " + policy, err
	}
	_, err = x.Rollback(context.Background(), executor.RollbackRequest{To: rng.IntN(2), CrossIrreversible: true}, nil,
		executor.Options{}, nil)
	return "rollback", err
}

// wrong are the paths that are as they never were.
func (w wound) wrong(h host.Reader) (out []string) {
	now := seen(h, "/", map[string]string{})
	paths := maps.Clone(now)
	for _, m := range w.may {
		maps.Copy(paths, m)
	}
	for _, p := range slices.Sorted(maps.Keys(paths)) {
		if !slices.ContainsFunc(w.may, func(m map[string]string) bool { return m[p] == now[p] }) && !mixed(p, now[p]) {
			out = append(out, fmt.Sprintf("%s is %q", p, now[p]))
		}
	}
	return out
}

// mixed are files that several steps write: each of their lines was there at
// some time.
func mixed(p, now string) bool {
	if p != "/etc/group" && p != "/etc/gshadow" && !strings.HasSuffix(p, "-") {
		return false
	}
	for line := range strings.Lines(now) {
		if !strings.Contains(line, "root:") && !strings.HasPrefix(line, "deploy:") && !strings.HasPrefix(line, "extra:") {
			return false
		}
	}
	return true
}

// damage breaks one file of a state directory, and says how.
func damage(rng *rand.Rand, st host.FS) string {
	var files []string
	for f := range seen(st, "/", map[string]string{}) {
		if s, err := st.Lstat(f); err == nil && s.Type == image.Regular {
			files = append(files, f)
			if strings.HasSuffix(f, ".wal") {
				files = append(files, f, f, f, f)
			}
		}
	}
	slices.Sort(files)
	f := files[rng.IntN(len(files))]
	b := get(st, f)
	how := rng.IntN(10)
	if !strings.HasSuffix(f, ".wal") && how >= 5 {
		how -= 5
	}
	name := f
	switch how {
	case 0:
		for range 1 + rng.IntN(3) {
			if len(b) > 0 {
				b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
			}
		}
		name += " flipped"
	case 1:
		b = b[:rng.IntN(len(b)+1)]
		name += " cut"
	case 2:
		if i := rng.IntN(len(b) + 1); len(b) > 0 {
			clear(b[i:min(len(b), i+rng.IntN(600))])
		}
		name += " zeroed"
	case 3:
		other := files[rng.IntN(len(files))]
		b = get(st, other)
		name += " replaced by " + other
	case 4:
		_ = st.Remove(f)
		return name + " gone"
	default:
		b = shuffle(rng, b, how >= 8)
		name += fmt.Sprintf(" shuffled, sealed %v", how >= 8)
	}
	_ = put(st, f, b)
	return name
}

const walMagic = "FETTLEWAL1\n"

// shuffle doubles, leaves out or exchanges records; sealed gives them numbers
// and checksums that fit again.
func shuffle(rng *rand.Rand, b []byte, sealed bool) []byte {
	frames := split(b)
	if len(frames) < 3 {
		return b
	}
	for range 1 + rng.IntN(3) {
		i, k := 1+rng.IntN(len(frames)-1), 1+rng.IntN(len(frames)-1)
		switch rng.IntN(5) {
		case 4:
			if sealed {
				frames[i] = forged(rng, frames[i])
			}
		case 0:
			frames = slices.Insert(frames, i, frames[k])
		case 1:
			frames = slices.Delete(frames, i, i+1)
		case 2:
			frames[i], frames[k] = frames[k], frames[i]
		case 3:
			frames = frames[:i+1]
		}
		if len(frames) < 2 {
			break
		}
	}
	out := []byte(walMagic)
	for n, f := range frames {
		f = slices.Clone(f)
		if sealed {
			binary.LittleEndian.PutUint32(f, uint32(len(f)-16))
			binary.LittleEndian.PutUint64(f[8:], uint64(n+1))
			binary.LittleEndian.PutUint32(f[4:], crc32.Checksum(f[8:], crc32.MakeTable(crc32.Castagnoli)))
		}
		out = append(out, f...)
	}
	return out
}

// forged is a record that says something else, of no path that is not there.
func forged(rng *rand.Rand, frame []byte) []byte {
	text := string(frame[16:])
	swaps := [][2]string{{`"i":`, `"i":9`}, {`"i":`, `"i":-`}, {`"from":`, `"none":`}, {`"to":`, `"none":`},
		{`"file":`, `"user":`}, {`"p":"/`, `"p":"`}, {`"tmp":"`, `"tmp":"/srv/theirs","x":"`}, {`"b":`, `"b":7`},
		{`"k":"move"`, `"k":"result"`}, {`"k":"result"`, `"k":"intent"`}, {`"k":"intent"`, `"k":"pending"`},
		{`"k":"done"`, `"k":"fired"`}, {`"k":"prepared"`, `"k":"undoing"`}, {`"a":"file:`, `"a":"user:`},
		{`"back":true`, `"back":false`}, {`{"k":`, `{"back":true,"k":`}}
	s := swaps[rng.IntN(len(swaps))]
	return append(slices.Clone(frame[:16]), strings.Replace(text, s[0], s[1], 1)...)
}

func split(b []byte) (frames [][]byte) {
	b = b[min(len(b), len(walMagic)):]
	for len(b) >= 16 {
		n := 16 + int(binary.LittleEndian.Uint32(b))
		if n > len(b) || n < 18 {
			break
		}
		frames, b = append(frames, b[:n]), b[n:]
	}
	return frames
}
