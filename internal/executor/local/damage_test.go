package local_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/test/sample"
)

// files is what a state directory holds, by path.
type files map[string]string

func dump(t *testing.T, fsys host.FS) files {
	out := files{}
	var visit func(dir string)
	visit = func(dir string) {
		names, err := fsys.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range names {
			p := path.Join(dir, n)
			if st, err := fsys.Lstat(p); err != nil {
				t.Fatal(err)
			} else if st.Type == image.Directory {
				visit(p)
				continue
			}
			f, err := fsys.Open(p)
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(f)
			if err = errors.Join(err, f.Close()); err != nil {
				t.Fatal(err)
			}
			out[p] = string(b)
		}
	}
	visit("/")
	return out
}

// damaging is a machine with a history, which damaged copies are made of.
type damaging struct {
	t      *testing.T
	w      *world
	now    files
	before map[string]string // an older copy of what has changed
	newest int
	next   string // the list that is applied then
}

// damagingHistory applies, changes, removes and goes back; with collect, old runs go.
func damagingHistory(t *testing.T, collect bool) *damaging {
	w := newWorld(t)
	w.mkdirs("/t")
	w.write("/t/a", "by hand\n")
	w.write("/t/adopted", "one\n")
	w.write("/t/h", "first\n")
	w.write("/t/gone", "it was there\n")
	d := &damaging{t: t, w: w, before: map[string]string{},
		next: "COPY 4 /t/a\nMKDIR /t/d\nCOPY 1 /t/d/y\nCOPY 1 /t/adopted\nCOPY 2 /t/new\n"}
	one := "MKDIR /t/d\nCOPY 1 /t/a\nCOPY 2 /t/d/x\nEDIT /t/h line=second\nCOPY 1 /t/adopted\nLINK /t/a /t/l\nRM /t/gone\n"
	two := "MKDIR /t/d\nCOPY 2 /t/a\nCOPY 1 /t/d/x\nEDIT /t/h line=second\nCOPY 1 /t/adopted\nCOPY 4 /t/c\n"
	steps := []func(){
		func() { d.apply(w, one) },
		func() { d.apply(w, two) },
		func() { d.apply(w, "COPY 2 /t/a\nCOPY 1 /t/adopted\n") },
		func() { w.rollback(2) },
	}
	for _, do := range steps {
		do()
		d.newest++
		d.take()
	}
	if collect {
		_, err := w.x.Collect(context.Background(), journal.Retention{Runs: 1}, executor.Options{})
		w.must(err)
		d.take()
	}
	return d
}

func (d *damaging) apply(w *world, list string) {
	d.t.Helper()
	_, err := w.x.Apply(context.Background(), request(d.t, list), nil, executor.Options{}, nil)
	w.must(err)
}

func (d *damaging) take() {
	was := d.now
	d.now = dump(d.t, d.w.state)
	for p, text := range was {
		if now, ok := d.now[p]; ok && now != text {
			d.before[p] = text
		}
	}
}

// hurt is what happens to one file.
type hurt struct{ path, how string }

// ways are what can happen to a file.
func (d *damaging) ways(p string) []string {
	out := []string{"deleted", "empty", "cut", "flipped first", "flipped last"}
	if _, ok := d.before[p]; ok {
		out = append(out, "older")
	}
	return out
}

// singles are all ways of all files.
func (d *damaging) singles(files []string) []hurt {
	var out []hurt
	for _, p := range files {
		for _, how := range d.ways(p) {
			out = append(out, hurt{p, how})
		}
	}
	return out
}

// copyOf is the machine with a damaged state directory.
func (d *damaging) copyOf(hurts []hurt) (*world, error) {
	state := mem.New(mem.Options{})
	now := maps.Clone(d.now)
	for _, h := range hurts {
		text := now[h.path]
		switch h.how {
		case "deleted":
			delete(now, h.path)
			continue
		case "empty":
			text = ""
		case "cut":
			text = text[:len(text)/2]
		case "older":
			text = d.before[h.path]
		case "flipped first":
			text = flipped(text, len(text)/3)
		case "flipped last":
			text = flipped(text, len(text)-2)
		}
		now[h.path] = text
	}
	c := &world{t: d.t, fake: true, state: state, ops: d.w.ops, hits: d.w.hits}
	for _, p := range slices.Sorted(maps.Keys(now)) {
		mkdirsIn(state, path.Dir(p))
		f, err := state.Create(p)
		c.must(err)
		_, err = io.WriteString(f, now[p])
		c.must(errors.Join(err, f.Close()))
	}
	d.w.must(d.w.aside.(*mem.Host).SyncFS("/"))
	m := d.w.aside.(*mem.Host).Crash(rand.New(rand.NewPCG(1, 1)))
	c.h, c.aside = m, m
	return c, c.tryOpen()
}

func mkdirsIn(fsys host.FS, p string) {
	if p != "/" {
		mkdirsIn(fsys, path.Dir(p))
		if err := fsys.Mkdir(p, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			panic(err)
		}
	}
}

func flipped(text string, at int) string {
	if len(text) == 0 {
		return text
	}
	b := []byte(text)
	b[max(0, at)] ^= 4
	return string(b)
}

// seen is what the commands came to: each has its result, or "refused".
type outcomesOf struct {
	status, last    string
	planned         string
	noted           bool
	applied, origin snapshot // nil when refused
	afterApply      snapshot // the origin, gone back to after the apply
}

func encoded(t *testing.T, v ...any) string {
	b, err := journal.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// run runs every command on copies of the machine.
func (d *damaging) run(hurts []hurt) (o outcomesOf) {
	ctx := context.Background()
	everything := func(string) bool { return true }
	c, err := d.copyOf(hurts)
	if err != nil {
		return o
	}
	if st, err := c.x.Status(ctx); err == nil {
		o.noted = len(st.Notes) > 0
		o.status, o.last = encoded(d.t, st.State, st.Condition), encoded(d.t, st.Last)
	}
	req := request(d.t, d.next)
	if p, err := c.x.Plan(ctx, req); err == nil {
		o.planned = p.Digest()
	}
	if _, err := c.x.Apply(ctx, req, nil, executor.Options{}, nil); err == nil {
		o.applied = withoutTime(c.look(), everything)
		if _, err := c.x.Rollback(ctx, executor.RollbackRequest{}, nil, executor.Options{}, nil); err == nil {
			o.afterApply = withoutTime(c.look(), everything)
		}
	}
	c, err = d.copyOf(hurts)
	c.must(err)
	if _, err := c.x.Rollback(ctx, executor.RollbackRequest{}, nil, executor.Options{}, nil); err == nil {
		o.origin = withoutTime(c.look(), everything)
	}
	return o
}

// forgotten tells whether nothing is left that shows that the newest run was there: its
// journal, its state file and the pointer are all damaged. What is left then is an older
// state directory, as from a backup.
func (d *damaging) forgotten(hurts []hurt) bool {
	marks := map[string]bool{fmt.Sprintf("/journal/%06d.wal", d.newest): false,
		fmt.Sprintf("/state/%06d.json deleted", d.newest): false, "/current": false}
	for _, h := range hurts {
		for _, k := range []string{h.path, h.path + " " + h.how} {
			if _, ok := marks[k]; ok {
				marks[k] = true
			}
		}
	}
	return !slices.Contains(slices.Collect(maps.Values(marks)), false)
}

// compare fails where a command succeeded with another result than undamaged.
func (d *damaging) compare(sound outcomesOf, hurts []hurt) {
	if d.forgotten(hurts) {
		return
	}
	got := d.run(hurts)
	wrong := func(what string, a, b any) { d.t.Errorf("%v: %s\n\tis  %v\n\twas %v", hurts, what, a, b) }
	if got.status != "" && got.status != sound.status {
		wrong("status", got.status, sound.status)
	}
	if got.status != "" && !got.noted && got.last != sound.last { // what is lost is told of
		wrong("last run", got.last, sound.last)
	}
	if got.planned != "" && got.planned != sound.planned {
		wrong("plan", got.planned, sound.planned)
	}
	for what, pair := range map[string][2]snapshot{"apply": {got.applied, sound.applied},
		"rollback origin": {got.origin, sound.origin}, "apply, rollback origin": {got.afterApply, sound.afterApply}} {
		if pair[0] != nil && !reflect.DeepEqual(pair[0], pair[1]) {
			wrong(what, strings.Join(differs(pair[1], pair[0], nothing), "\n"), "")
		}
	}
}

// TestDamagedStateDirectory: whatever is lost or damaged in the state directory, a
// command does what it does with a sound one, or it refuses.
func TestDamagedStateDirectory(t *testing.T) {
	for _, collect := range []bool{false, true} {
		t.Run(fmt.Sprint("collected ", collect), func(t *testing.T) {
			d := damagingHistory(t, collect)
			sound := d.run(nil)
			if sound.status == "" || sound.planned == "" || sound.applied == nil || sound.origin == nil ||
				sound.afterApply == nil || sound.noted {
				t.Fatalf("undamaged it does not work: %+v", sound)
			}
			all := slices.Sorted(maps.Keys(d.now))
			for _, h := range sample.Pick(d.singles(all)) {
				d.compare(sound, []hurt{h})
			}
			d.subsets(sound)
			rng := rand.New(rand.NewPCG(7, 7))
			for round := range d.rounds() {
				var hurts []hurt
				for _, p := range all {
					if often := !strings.HasPrefix(p, "/objects"); often && rng.IntN(4) == 0 || rng.IntN(20) == 0 {
						ways := d.ways(p)
						hurts = append(hurts, hurt{p, ways[rng.IntN(len(ways))]})
					}
				}
				if sample.Has(round) {
					d.compare(sound, hurts)
				}
			}
		})
	}
}

func (d *damaging) rounds() int {
	if os.Getenv("FETTLE_LONG") != "" {
		return 1000
	}
	return 60
}

// subsets deletes each subset of the files that tell of runs.
func (d *damaging) subsets(sound outcomesOf) {
	var telling []string
	for p := range d.now {
		if strings.HasPrefix(p, "/state/") || strings.HasPrefix(p, "/journal/") || p == "/current" || p == "/format" {
			telling = append(telling, p)
		}
	}
	slices.Sort(telling)
	for bits := range 1 << len(telling) {
		if os.Getenv("FETTLE_LONG") == "" && (bits%7 != 0 || !sample.Has(bits/7)) {
			continue
		}
		var hurts []hurt
		for i, p := range telling {
			if bits&(1<<i) != 0 {
				hurts = append(hurts, hurt{p, "deleted"})
			}
		}
		d.compare(sound, hurts)
	}
}

// TestLostStateIsNoted: what is made again is told of, and recover writes it.
func TestLostStateIsNoted(t *testing.T) {
	d := damagingHistory(t, false)
	c, err := d.copyOf([]hurt{{"/state/000004.json", "deleted"}, {"/current", "cut"}})
	c.must(err)
	ctx := context.Background()
	st, err := c.x.Status(ctx)
	if err != nil || len(st.Notes) != 2 || st.State.Run != 4 {
		t.Fatalf("%+v %v", st, err)
	}
	if p, err := c.x.Drift(ctx, executor.DriftOptions{}); err != nil || len(p.Notes) != 2 || len(p.Changes) != 0 {
		t.Errorf("%+v %v", p, err)
	}
	var told []string
	_, err = c.x.Recover(ctx, executor.Options{}, func(e executor.Event) { told = append(told, e.Kind+": "+e.Text) })
	if err != nil || len(told) != 2 || !strings.HasPrefix(told[0], "note: ") {
		t.Errorf("%q %v", told, err)
	}
	if st, err = c.x.Status(ctx); err != nil || len(st.Notes) != 0 || st.State.Run != 4 {
		t.Errorf("%+v %v", st, err)
	}
}
