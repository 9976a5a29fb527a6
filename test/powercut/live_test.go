package powercut

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"fettle.dev/fettle/test/sample"
	"golang.org/x/sys/unix"
)

// before gives the disk as it is when a phase of a recording begins.
func (r *recording) before(t testing.TB, k int) *os.File {
	t.Helper()
	n := 0
	for n < len(r.ends) && r.ends[n] <= r.phases[k].begin {
		n++
	}
	m, err := NewImage(r.fs.size, r.start, r.ops)
	must(t, err)
	f, err := m.Cut(n, All, 0)
	must(t, err)
	return f
}

// update is the phase in which the second list is applied.
const update = 1

// The shutdown of a mounted file system (EXT4_IOC_SHUTDOWN): from then on
// nothing reaches the disk. With the first, what the journal of the file system
// has gathered is still written.
const (
	ioctlShutdown = 0x8004587d
	logFlush      = 1
	noLogFlush    = 2
)

// TestShutdown has the file system go away under a running program, which lives
// on and meets errors at everything it does.
func TestShutdown(t *testing.T) {
	ext4.need(t)
	bin := build(t, "")
	n := 10
	if long() {
		n = 60
	}
	var sum result
	for _, policy := range []string{"undo", "finish"} {
		r := record(t, settings{fs: ext4, bin: bin, policy: policy})
		for _, i := range sample.Numbers(n / 2) {
			v, over := r.shutdown(t, bin, policy, i, n/2)
			sum.add(v, over)
		}
	}
	report(t, "Shutdown of a live file system", "ext4", sum,
		"the file system is shut down while a list is applied, and mounted again; fettle recover; compared; rolled back to the origin; compared")
}

// shutdown does it at the i-th of n places of the update.
func (r *recording) shutdown(t *testing.T, bin, policy string, i, n int) (v verdict, over bool) {
	l := newLogged(t, r.fs, r.before(t, update))
	_, v2 := lists(t, t.TempDir())
	from, err := l.disk.Logged()
	must(t, err)
	ph := r.phases[update]
	after := from + (ph.end-ph.begin)*int64(i)/int64(n)
	m := machine{bin: bin, dir: filepath.Join(l.dir, "m")}
	wait := m.start(t.Context(), "steps", "apply", v2, "--yes", "--on-crash", policy)
	ended := make(chan int, 1)
	go func() {
		code, _ := wait()
		ended <- code
	}()
	code := -1
	if !reached(t, l.disk, after, ended, &code) {
		must(t, shut(l.dir, 1+i%2))
		code = <-ended
	}
	l.unmount(t)
	ph.over = code == exitDone
	if ph.over {
		ph.old = ph.new
	}
	left := &recording{fs: r.fs, phases: []phase{ph}, origin: r.origin}
	dir := t.TempDir()
	p := point{at: i, keep: Keep(i % 2), back: true, full: i%4 == 0}
	return left.look(t, machine{bin: bin, dir: filepath.Join(dir, "m")}, dir, p, l.content(t), v2), ph.over
}

// reached waits until the log has grown to a length; true when the program
// ended before.
func reached(t testing.TB, d *Disk, length int64, ended <-chan int, code *int) bool {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Microsecond) {
		n, err := d.Logged()
		must(t, err)
		if n >= length {
			return false
		}
		select {
		case *code = <-ended:
			return true
		default:
		}
		if time.Now().After(deadline) {
			t.Fatal("the program neither writes nor ends")
		}
	}
}

func shut(dir string, how int) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.IoctlSetPointerInt(int(f.Fd()), ioctlShutdown, how)
}

// TestFullDisk applies where the disk is full: at once, while files are staged,
// or when the journal grows. The command either succeeds or leaves everything as
// it was, and needs no room given back for that.
func TestFullDisk(t *testing.T) {
	ext4.need(t)
	bin := build(t, "")
	n := 12
	if long() {
		n = 100
	}
	r := record(t, settings{fs: ext4, bin: bin, policy: "undo"})
	start := r.before(t, update)
	defer start.Close()
	var sum result
	for _, i := range sample.Numbers(n) {
		disk, err := NewImage(r.fs.size, start, nil)
		must(t, err)
		f, err := disk.Cut(0, None, 0)
		must(t, err)
		sum.add(r.full(t, bin, f, i, int64(i)*1_500_000/int64(n)), false)
	}
	report(t, "Full disk", "ext4", sum,
		"a list is applied with 0 to 1.5 MB free; done or as before, without room given back; rolled back to the origin; compared")
}

// full applies the second version with room bytes free.
func (r *recording) full(t *testing.T, bin string, disk *os.File, i int, room int64) verdict {
	defer disk.Close()
	dir := t.TempDir()
	must(t, r.fs.mount(disk, dir))
	defer func() { must(t, r.fs.unmount(dir)) }()
	p := point{at: int(room), back: true}
	bad := func(what, detail string) verdict { return verdict{point: p, what: what, detail: detail} }
	m := machine{bin: bin, dir: filepath.Join(dir, "m")}
	_, v2 := lists(t, t.TempDir())
	filler := filepath.Join(dir, "filler")
	must(t, fill(filler, room))
	ph := r.phases[update]
	code, out := m.run(t.Context(), "steps", "apply", v2, "--yes", "--on-failure", "undo")
	got, err := readTree(m.root())
	must(t, err)
	switch {
	case code == exitDone:
		ph.old = ph.new
	case got.same(ph.old):
		ph.new = ph.old
	default:
		return bad("not undone", fmt.Sprintf("%s\n  the command ended with %d:\n%s", got.differences(ph.old), code, out))
	}
	left := &recording{fs: r.fs, phases: []phase{ph}, origin: r.origin}
	if i%2 == 0 {
		must(t, os.Remove(filler))
	} else if err := os.Truncate(filler, 0); err != nil {
		return bad("unusable", err.Error())
	}
	v := left.recovered(t, m, p, v2)
	v.new = code == exitDone
	return v
}

// fill takes all room on a file system but a rest.
func fill(path string, rest int64) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for size := 1 << 20; size >= 1024; {
		if _, err = f.Write(make([]byte, size)); errors.Is(err, unix.ENOSPC) {
			size /= 2
		} else if err != nil {
			return err
		}
	}
	end, err := f.Seek(0, 2)
	if err != nil {
		return err
	}
	if err := f.Truncate(max(end-rest, 0)); err != nil {
		return err
	}
	return f.Sync()
}
