package powercut

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// point is one place at which the power goes.
type point struct {
	at    int // entries of the log that came before
	keep  Keep
	seed  uint64
	phase int
	back  bool // whether the machine goes back to the origin afterwards
	full  bool // whether it is applied to once more before that
}

func (p point) String() string {
	return fmt.Sprintf("entry %d, %s kept, seed %d", p.at, p.keep, p.seed)
}

// candidates are all points of a recording at which the disk can differ.
func (r *recording) candidates(seed uint64) [][]point {
	out := make([][]point, len(r.phases))
	k, first := 0, true
	for i, o := range r.ops {
		if o.Flush() {
			first = true
			continue
		}
		for r.ends[i] > r.phases[k].end {
			k++
		}
		p := point{at: i + 1, seed: seed, phase: k}
		if first {
			out[k] = append(out[k], p)
		}
		first = false
		for _, p.keep = range []Keep{Half, All} {
			out[k] = append(out[k], p)
		}
	}
	return out
}

// points chooses n points: each phase has its share, and each part of a phase.
func (r *recording) points(n int, seed uint64) []point {
	var out []point
	all := r.candidates(seed)
	for k, c := range all {
		share := min(len(c), (n-len(out))/(len(all)-k))
		for i := range share {
			out = append(out, c[i*len(c)/share])
		}
	}
	for i := range out {
		out[i].back, out[i].full = long() || i%3 == 0, i%9 == 0
	}
	return out
}

// verdict is what was found at a point.
type verdict struct {
	point
	what   string // "" when all is well
	detail string
	new    bool // the tree is the new one
}

// result is the sum of a recording's points.
type result struct {
	points, hit, old, new int
	lost                  []verdict
}

func (r *result) add(v verdict, over bool) {
	r.points++
	if !over {
		r.hit++
	}
	switch {
	case v.what != "":
		r.lost = append(r.lost, v)
	case v.new:
		r.new++
	default:
		r.old++
	}
}

// plus adds up.
func (r *result) plus(o result) {
	r.points, r.hit, r.old, r.new = r.points+o.points, r.hit+o.hit, r.old+o.old, r.new+o.new
	r.lost = append(r.lost, o.lost...)
}

// kinds counts what was found by kind.
func (r *result) kinds() map[string]int {
	m := map[string]int{}
	for _, v := range r.lost {
		m[v.what]++
	}
	return m
}

// list says it in words.
func (r *result) list() string {
	m := r.kinds()
	var out []string
	for _, what := range slices.Sorted(maps.Keys(m)) {
		out = append(out, fmt.Sprintf("%d %s", m[what], what))
	}
	return strings.Join(out, ", ")
}

// try cuts the power at each point and looks what is left.
func (r *recording) try(t testing.TB, bin string, points []point) result {
	t.Helper()
	img, err := NewImage(r.fs.size, r.start, r.ops)
	must(t, err)
	type job struct {
		point
		disk *os.File
	}
	jobs, verdicts := make(chan job), make(chan verdict)
	_, again := lists(t, t.TempDir())
	var workers sync.WaitGroup
	for range r.fs.workers {
		dir := t.TempDir()
		workers.Go(func() {
			for j := range jobs {
				verdicts <- r.look(t, machine{bin: bin, dir: filepath.Join(dir, "m")}, dir, j.point, j.disk, again)
			}
		})
	}
	go func() {
		defer close(verdicts)
		defer workers.Wait()
		defer close(jobs)
		for _, p := range points {
			disk, err := img.Cut(p.at, p.keep, p.seed)
			if err != nil {
				verdicts <- verdict{point: p, what: "no image", detail: err.Error()}
				return
			}
			jobs <- job{p, disk}
		}
	}()
	var sum result
	for v := range verdicts {
		sum.add(v, r.phases[v.phase].over)
	}
	return sum
}

// look mounts a disk as the power cut left it, has the program recover, and
// compares.
func (r *recording) look(t testing.TB, m machine, dir string, p point, disk *os.File, again string) verdict {
	defer disk.Close()
	if err := r.fs.mount(disk, dir); err != nil {
		return verdict{point: p, what: "no file system", detail: err.Error()}
	}
	v := r.recovered(t, m, p, again)
	if err := r.fs.unmount(dir); err != nil && v.what == "" {
		v.what, v.detail = "no file system", err.Error()
	}
	return v
}

func (r *recording) recovered(t testing.TB, m machine, p point, again string) verdict {
	ph := r.phases[p.phase]
	bad := func(what, detail string) verdict { return verdict{point: p, what: what, detail: detail} }
	code, out := m.run(t.Context(), "recover")
	if code != exitDone {
		return bad("not recovered", fmt.Sprintf("recover ended with %d:\n%s", code, out))
	}
	got, err := readTree(m.root())
	if err != nil {
		return bad("unreadable", err.Error())
	}
	switch {
	case got.same(ph.old) || got.same(ph.new):
	case ph.over:
		return bad("lost after commit", strings.Join(got.differences(ph.new), "\n  "))
	case len(got.torn(ph.old, ph.new)) > 0:
		return bad("torn", strings.Join(got.torn(ph.old, ph.new), "\n  "))
	default:
		return bad("mixed", fmt.Sprintf("neither the old tree:\n  %s\nnor the new:\n  %s\nrecover said:\n%s",
			strings.Join(got.differences(ph.old), "\n  "), strings.Join(got.differences(ph.new), "\n  "), out))
	}
	if p.back {
		if what, detail := r.useAgain(t, m, p, again); what != "" {
			return bad(what, detail)
		}
	}
	return verdict{point: p, new: !got.same(ph.old)}
}

// useAgain goes back to the origin, which needs every before-image; for some
// points after applying once more.
func (r *recording) useAgain(t testing.TB, m machine, p point, again string) (what, detail string) {
	if p.full {
		if code, out := m.run(t.Context(), "steps", "apply", again, "--yes"); code != exitDone {
			return "of no use", fmt.Sprintf("steps apply ended with %d:\n%s", code, out)
		}
	}
	if code, out := m.run(t.Context(), "rollback", "origin", "--yes"); code != exitDone {
		return "no way back", fmt.Sprintf("rollback origin ended with %d:\n%s", code, out)
	}
	got, err := readTree(m.root())
	if err != nil {
		return "unreadable", err.Error()
	}
	if diff := got.differences(r.origin); diff != nil {
		return "before-images damaged", strings.Join(diff, "\n  ")
	}
	return "", ""
}
