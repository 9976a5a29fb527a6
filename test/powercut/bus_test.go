package powercut

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/test/campaign"
	"fettle.dev/fettle/test/sample"
)

// promise is what the bus of a hub acknowledged, and how long the log of the disk was
// when it had.
type promise struct {
	at   int64
	text string
	key  string // of a value; "" for a record of the log
	rev  uint64
}

// busRecording is a disk under the bus of a hub while hubs and agents write.
type busRecording struct {
	fs       filesystem
	start    *os.File
	ops      []Op
	ends     []int64
	promises []promise
}

// openBus opens the bus of a directory with its log and one of its stores.
func openBus(ctx context.Context, dir string) (b *openedBus, err error) {
	b = &openedBus{}
	if b.srv, err = bus.Start(ctx, bus.Config{Dir: dir, DontListen: true}); err != nil {
		return nil, err
	}
	l, err := b.srv.Log(ctx, bus.LogConfig{Name: "events", MaxBytes: 16 << 20})
	if err == nil {
		b.Gather = bus.NewGather(l, bus.GatherConfig{})
		b.store, err = b.srv.Store(ctx, "assignments")
	}
	if err != nil {
		b.srv.Close()
	}
	return b, err
}

type openedBus struct {
	*bus.Gather
	srv   *bus.Server
	store fleet.Store
}

// write writes under the key of a writer: for every other one with more keys as one.
func (b *openedBus) write(ctx context.Context, w int, text string) ([]promise, error) {
	if w%2 == 0 {
		p := promise{text: text, key: fmt.Sprintf("k%d", w)}
		var err error
		p.rev, err = b.store.Put(ctx, p.key, []byte(text))
		return []promise{p}, err
	}
	var all []fleet.Entry
	var out []promise
	for i := range 5 {
		key := fmt.Sprintf("k%d.%d", w, i)
		now, err := b.store.Get(ctx, key)
		if err != nil && !errors.Is(err, fleet.ErrNotFound) {
			return nil, err
		}
		all = append(all, fleet.Entry{Key: key, Rev: now.Rev, Value: []byte(text)})
	}
	newer, err := b.store.(fleet.Batcher).UpdateAll(ctx, all)
	for i, rev := range newer {
		out = append(out, promise{text: text, key: all[i].Key, rev: rev})
	}
	return out, err
}

// recordBus has eight writers append reports and write values, each of which waits for
// its answer before it goes on.
func recordBus(t testing.TB) *busRecording {
	t.Helper()
	l := newLogged(t, ext4, nil)
	dir := filepath.Join(l.dir, "bus")
	must(t, os.Mkdir(dir, 0o700))
	must(t, syncfs(l.dir))
	r := &busRecording{fs: ext4, start: l.content(t)}
	t.Cleanup(func() { r.start.Close() })
	from, err := l.disk.Logged()
	must(t, err)
	b, err := openBus(t.Context(), dir)
	must(t, err)
	var mu sync.Mutex
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			for i := range 12 {
				p := promise{text: fmt.Sprintf("%d-%d", w, i)}
				_, err := b.Append(t.Context(), [][]byte{[]byte(p.text)})
				var more []promise
				if err == nil {
					p.at, err = l.disk.Logged()
				}
				if err == nil {
					more, err = b.write(t.Context(), w, p.text)
				}
				if err == nil {
					for n := range more {
						more[n].at, err = l.disk.Logged()
					}
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				r.promises = append(append(r.promises, p), more...)
				mu.Unlock()
			}
		})
	}
	writers.Wait()
	b.srv.Close()
	l.unmount(t)
	ops, ends, err := l.disk.Log()
	must(t, err)
	for i, e := range ends {
		if e > from {
			r.ops, r.ends = append(r.ops, ops[i]), append(r.ends, e)
		}
	}
	return r
}

// due is what has to be there when the power goes after n entries.
func (r *busRecording) due(n int) []promise {
	return slices.DeleteFunc(slices.Clone(r.promises), func(p promise) bool { return p.at > r.ends[n-1] })
}

// cut starts the bus on what a cut left, and tells what is missing.
func (r *busRecording) cut(t testing.TB, disk *os.File, due []promise) (missing []string, err error) {
	defer disk.Close()
	dir := t.TempDir()
	if err := r.fs.mount(disk, dir); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.fs.unmount(dir)) }()
	b, err := openBus(t.Context(), filepath.Join(dir, "bus"))
	if err != nil {
		return nil, err
	}
	defer b.srv.Close()
	there, err := b.all(t.Context())
	if err != nil {
		return nil, err
	}
	store, err := b.srv.Store(t.Context(), "assignments")
	if err != nil {
		return nil, err
	}
	for _, p := range due {
		if p.key == "" {
			if !there[p.text] {
				missing = append(missing, "the record "+p.text)
			}
			continue
		}
		if e, err := store.Get(t.Context(), p.key); err != nil || e.Rev < p.rev || e.Rev == p.rev &&
			string(e.Value) != p.text {
			missing = append(missing, fmt.Sprintf("%s of %s: %v", p.text, p.key, err))
		}
	}
	return missing, nil
}

// all are the records of the log.
func (b *openedBus) all(ctx context.Context) (map[string]bool, error) {
	last, err := b.Append(ctx, nil)
	if err != nil {
		return nil, err
	}
	there, end := map[string]bool{}, errors.New("all was read")
	err = b.Follow(ctx, 0, func(seq uint64, records [][]byte) error {
		for _, r := range records {
			there[string(r)] = true
		}
		if seq == last {
			return end
		}
		return nil
	})
	if !errors.Is(err, end) {
		return nil, err
	}
	return there, nil
}

// try cuts the power at some of n points, which are spread evenly over the recording.
func (r *busRecording) try(t testing.TB, n int, some []int) (lost, points, due int) {
	t.Helper()
	img, err := NewImage(r.fs.size, r.start, r.ops)
	must(t, err)
	for _, i := range some {
		at := len(r.ops)/10 + i*(len(r.ops)*9/10-1)/n
		disk, err := img.Cut(at, []Keep{None, Half, All}[i%3], uint64(i))
		must(t, err)
		want := r.due(at)
		missing, err := r.cut(t, disk, want)
		points, due = points+1, due+len(want)
		if len(missing) > 0 || err != nil {
			lost++
			t.Logf("entry %d of %d, %s kept: %d of %d are missing: %v %v", at, len(r.ops), []Keep{None, Half, All}[i%3],
				len(missing), len(want), missing[:min(3, len(missing))], err)
		}
	}
	return lost, points, due
}

// TestPowerCutsOfTheBus: whatever a disk keeps of what was not flushed, the bus of a hub
// starts, and has all that it acknowledged to agents and hubs.
func TestPowerCutsOfTheBus(t *testing.T) {
	ext4.need(t)
	n := 12
	if long() {
		n = 300
	}
	r := recordBus(t)
	lost, points, due := r.try(t, n, sample.Numbers(n))
	if lost > 0 || due < points {
		t.Errorf("%d of %d cuts lost what was acknowledged, of %d in all", lost, points, due)
	}
	t.Logf("%d writes to the disk, %d promises; %d cuts, at which %d promises were due", len(r.ops), len(r.promises),
		points, due)
	campaign.Record(t, campaign.Campaign{Name: "Power cut of a hub", Variant: "ext4, the bus", Points: points,
		Hit: points, Lost: lost,
		Detail: "power cut while reports and assignments are written; the bus starts; it has all acknowledged data"})
}

// TestTheBusOnALyingDisk: on a disk that keeps nothing of what it says it has flushed,
// the same cuts lose what was acknowledged, so the test above would notice.
func TestTheBusOnALyingDisk(t *testing.T) {
	sample.Group(t, 2, 10)
	ext4.need(t)
	r := recordBus(t)
	half := len(r.ops) / 2
	for i := half; i < len(r.ops); i++ {
		if r.ops[i].Flush() {
			r.ops[i] = Op{kind: opZero} // of no bytes
		}
	}
	if lost, points, _ := r.try(t, 6, []int{0, 1, 2, 3, 4, 5}); lost == 0 {
		t.Errorf("%d cuts lost nothing", points)
	}
}
