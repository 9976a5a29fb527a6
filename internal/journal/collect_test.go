package journal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
)

// history makes a store with runs by dice, whose lists, plans, trees and
// before-images are all there.
type history struct {
	t    testing.TB
	fsys *mem.FS
	now  time.Time
	base int
}

func (h *history) store() *journal.Store {
	s, err := journal.OpenWith(h.fsys, journal.Options{Now: func() time.Time { return h.now }})
	check(h.t, err)
	return s
}

func (h *history) put(s *journal.Store, v any) string {
	b, ok := v.(string)
	if !ok {
		enc := must(json.MarshalIndent(v, "", " "))(h.t)
		b = string(enc)
	}
	return must(s.PutBytes([]byte(b)))(h.t)
}

// run does one whole run; end is its last record, "" leaves it open.
func (h *history) run(how journal.RecordKind, files int) {
	s := h.store()
	run := must(s.NextRun())(h.t)
	hd := header(run, h.base)
	list, changes := "", []any{}
	st := journal.State{Format: 1, Run: run}
	for i := range files {
		blob := h.put(s, fmt.Sprintf("content %d of %d", i, run))
		list += "COPY " + blob + "\n"
		inTree := h.put(s, fmt.Sprintf("tree content %d of %d", i, run))
		tree := h.put(s, fmt.Sprintf(`{"rel":"eA==","f":{"type":"file","digest":%q}}`+"\n", inTree))
		im := new(image.Of(&image.File{Type: image.Directory, Tree: tree}))
		if i%2 == 0 {
			im = new(image.Of(&image.User{Present: true, HomeDir: &image.File{Type: image.Directory, Tree: tree}}))
		}
		planned := new(image.Of(&image.File{Type: image.Directory,
			Tree: h.put(s, "only in the plan "+h.put(s, fmt.Sprint("p", run, i)))}))
		changes = append(changes, map[string]any{"from": planned})
		st.Entries = append(st.Entries, journal.Entry{Addr: addr.File(fmt.Sprint("/", i)), Origin: im, Run: run})
	}
	hd.List, hd.Plan, hd.Map = h.put(s, list), h.put(s, map[string]any{"changes": changes}),
		h.put(s, fmt.Sprint("map of ", run))
	st.List = hd.List
	h.put(s, fmt.Sprint("referred to by nobody ", run))
	check(h.t, s.SyncObjects())
	j := must(s.Begin(hd))(h.t)
	before := h.put(s, fmt.Sprint("before ", run))
	check(h.t, j.Append(journal.Record{Kind: journal.Move,
		From: new(image.Of(&image.File{Type: image.Regular, Digest: before}))}))
	switch how {
	case journal.Commit:
		check(h.t, end(j, st, how))
		h.base = run
	case journal.Undone:
		then := must(s.StateAt(h.base))(h.t)
		then.Run = run
		check(h.t, end(j, then, how))
		h.base = run
	}
	check(h.t, errors.Join(j.Sync(), j.Close()))
}

// resolves checks that all that a kept run needs is there.
func (h *history) resolves(s *journal.Store) (runs int) {
	digests := regexp.MustCompile(`sha256:[0-9a-f]{64}`)
	seen := map[string]bool{}
	var follow func(b []byte)
	follow = func(b []byte) {
		for _, d := range digests.FindAll(b, -1) {
			if digest := string(d); !seen[digest] {
				seen[digest] = true
				content, err := s.ReadObject(digest)
				if err != nil {
					h.t.Fatalf("a reference of a kept run: %v", err)
				}
				follow(content)
			}
		}
	}
	infos := must(s.Runs())(h.t)
	for _, info := range infos {
		run := info.Header.Run
		follow(content(h.t, h.fsys, fmt.Sprintf("/journal/%06d.wal", run)))
		for _, at := range []int{run, info.Header.Base} {
			if at == run && (info.Outcome == "" || must(s.Read(run))(h.t)[2].Kind != journal.Commit) {
				continue
			}
			st, err := s.StateAt(at)
			if err != nil {
				h.t.Fatalf("kept run %d: %v", run, err)
			}
			follow(must(json.Marshal(st))(h.t))
		}
	}
	return len(infos)
}

func TestCollectKeepsWhatRunsNeed(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := &history{t: t, fsys: mem.NewFS(mem.Options{}), now: fixedNow()}
		n := rapid.IntRange(1, 12).Draw(rt, "runs")
		for i := range n {
			h.now = h.now.Add(time.Hour)
			ends := []journal.RecordKind{journal.Commit, journal.Commit, journal.Undone}
			if i == n-1 {
				ends = append(ends, "")
			}
			h.run(rapid.SampledFrom(ends).Draw(rt, "end"), rapid.IntRange(0, 3).Draw(rt, "files"))
		}
		keep := journal.Retention{Runs: rapid.IntRange(1, 5).Draw(rt, "keep"),
			Within: time.Duration(rapid.IntRange(0, 4).Draw(rt, "hours")) * time.Hour, DryRun: true}
		before := h.resolves(h.store())
		dry := must(h.store().Collect(keep))(t)
		if h.resolves(h.store()) != before {
			rt.Fatal("a dry run removed runs")
		}
		current := must(h.store().State())(t)
		next := must(h.store().NextRun())(t)
		keep.DryRun = false
		// If it is killed at any operation, the store remains valid, and a new collection
		// continues.
		stop := rapid.IntRange(0, 20).Draw(rt, "stop")
		killed, err := journal.OpenWith(h.fsys.Counted(func(string, string) error {
			if stop--; stop < 0 {
				return errors.New("killed")
			}
			return nil
		}), journal.Options{Now: func() time.Time { return h.now }})
		check(t, err)
		_, err = killed.Collect(keep)
		h.resolves(h.store())
		c := must(h.store().Collect(keep))(t)
		if stop >= 0 || err == nil {
			c = dry // it had finished
		}
		left := h.resolves(h.store())
		if left < min(n, keep.Runs) || left != before-len(dry.Runs) || len(c.Runs) > len(dry.Runs) {
			rt.Fatalf("%d runs of %d are left, dry run said %+v, then %+v", left, before, dry, c)
		}
		if again := must(h.store().Collect(keep))(t); len(again.Runs)+again.Objects != 0 {
			rt.Fatalf("a second collection found %+v", again)
		}
		if st := must(h.store().State())(t); st.Run != current.Run {
			rt.Fatalf("the current state was %d and is %d", current.Run, st.Run)
		}
		if got := must(h.store().NextRun())(t); got != next {
			rt.Fatalf("the next run was %d and is %d", next, got)
		}
	})
}

func TestCollectRemoves(t *testing.T) {
	h := &history{t: t, fsys: mem.NewFS(mem.Options{}), now: fixedNow()}
	for range 6 {
		h.run(journal.Commit, 2)
	}
	overwrite(t, h.fsys, "/objects/tmp-77", []byte("left by a crash"))
	c := must(h.store().Collect(journal.Retention{Runs: 2}))(t)
	if fmt.Sprint(c.Runs) != "[1 2 3 4]" || c.Objects == 0 || c.Bytes == 0 {
		t.Errorf("%+v", c)
	}
	if _, err := h.fsys.Lstat("/objects/tmp-77"); err == nil {
		t.Error("the temporary stays")
	}
	for _, gone := range []string{"referred to by nobody 6", "content 1 of 1", "map of 2"} {
		if h.store().Has(journal.DigestOf([]byte(gone))) {
			t.Errorf("%q is still there", gone)
		}
	}
	if got := len(must(h.store().Runs())(t)); got != 2 {
		t.Errorf("%d runs", got)
	}
}

func TestCollectRefusesWhatItCannotRead(t *testing.T) {
	h := &history{t: t, fsys: mem.NewFS(mem.Options{}), now: fixedNow()}
	for range 4 {
		h.run(journal.Commit, 1)
	}
	infos := must(h.store().Runs())(t)
	flip(t, h.fsys, objectFile(infos[3].Header.Plan), 3)
	var damaged *journal.DamagedError
	if c, err := h.store().Collect(journal.Retention{Runs: 1}); !errors.As(err, &damaged) || len(c.Runs) > 0 {
		t.Errorf("%+v, %v", c, err)
	}
	if got := len(must(h.store().Runs())(t)); got != 4 {
		t.Errorf("%d runs", got)
	}
}

func TestCollectLeavesFreshObjects(t *testing.T) {
	s := open(t, mem.NewFS(mem.Options{}))
	digest, _, err := s.Put(bytes.NewReader([]byte("for the next run")))
	check(t, err)
	must(s.Collect(journal.Retention{Runs: 1}))(t)
	check(t, s.Verify(digest))
}

// TestPutAfterCollect: collected content is stored again when it is put again by the same process.
func TestPutAfterCollect(t *testing.T) {
	fsys, _, packed := readWorld(t)
	s := open(t, fsys)
	check(t, errors.Join(s.Disarm(), endUndone(s)))
	s.Pack(true)
	check(t, errors.Join(s.Verify(packed), putAll("loose", string(packedText(3)))(s), collect(s)))
	if s.Verify(packed) == nil {
		t.Fatal("nothing was collected")
	}
	check(t, putAll("loose", string(packedText(3)))(s))
	for _, text := range []string{"loose", string(packedText(3))} {
		check(t, open(t, fsys).Verify(journal.DigestOf([]byte(text))))
	}
}
