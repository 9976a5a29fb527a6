package hostile

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/test/campaign"
	"fettle.dev/fettle/test/sample"
)

// wanted is what the plan is about: new, other and old paths, and states.
func wantedNow(version string) string {
	return `target "a" {}
directory "/srv/www" { mode = "07` + version + `5" }
file "/srv/www/index.html" { content = "version ` + version + `\n" }
file "/etc/` + version + `.conf" {
  content = "only in ` + version + `\n"
  mode    = "0640"
}
file "/etc/hosts" { content = "127.0.0.1 localhost ` + version + `\n" }
`
}

// desk is where a saved plan is put before fettle.
type desk struct {
	*trap
	before, after map[string]string // of the machine
	around        map[string]string
	done, refused int
	lost          int
}

func newDesk(t testing.TB) (*desk, []byte) {
	d := &desk{trap: newTrap(t)}
	write(t, d.root+"/etc/hosts", "127.0.0.1 localhost\n", 0o644)
	must(t, os.MkdirAll(d.root+"/srv", 0o755))
	write(t, d.repo+"/fettle.hcl", wantedNow("1"), 0o644)
	d.must("apply", "--yes", "--dirty")
	write(t, d.repo+"/fettle.hcl", wantedNow("2"), 0o644)
	d.trace = false
	if e := d.trap.fettle("plan", "-o", d.dir+"/good"); e.code != 2 {
		t.Fatalf("plan ends with %d: %s", e.code, e.out)
	}
	must(t, os.RemoveAll(d.repo)) // it is not needed any more
	must(t, os.MkdirAll(d.repo, 0o755))
	d.copy(d.root, d.dir+"/template")
	d.reset()
	d.before, d.around = d.machine(), d.picture(d.home, d.outside, d.repo)
	return d, []byte(read(d.dir + "/good"))
}

func (d *desk) must(args ...string) {
	d.t.Helper()
	if e := d.trap.fettle(args...); e.code != 0 {
		d.t.Fatalf("%q ends with %d: %s", args, e.code, e.out)
	}
}

func (d *desk) copy(from, to string) {
	d.t.Helper()
	out, err := exec.Command("cp", "-a", from, to).CombinedOutput()
	if err != nil {
		d.t.Fatalf("cannot copy: %v\n%s", err, out)
	}
}

// reset makes the machine as it was when the plan was saved.
func (d *desk) reset() {
	must(d.t, os.RemoveAll(d.root))
	d.copy(d.dir+"/template", d.root)
}

// machine is everything of the root but what fettle keeps for itself, times of
// directories aside.
func (d *desk) machine() map[string]string {
	all := d.picture(d.root)
	maps.DeleteFunc(all, func(p, _ string) bool {
		return strings.HasPrefix(p, d.root+"/var/lib/fettle") || strings.HasPrefix(p, d.root+"/run")
	})
	for p, line := range all {
		if st, err := os.Lstat(p); err == nil && st.Mode().IsDir() {
			all[p] = strings.Join(strings.Fields(line)[:2], " ")
		} else if f := strings.Fields(line); strings.HasPrefix(p, d.root+"/") && len(f) > 2 {
			all[p] = strings.Join(slices.Delete(f, 2, 3), " ") // what is written has the time of its run
		}
	}
	return all
}

// judge applies an archive. It is done as it was saved, or refused and nothing
// was done.
func (d *desk) judge(name string, archive []byte, args ...string) {
	d.t.Helper()
	must(d.t, os.WriteFile(d.dir+"/hostile", archive, 0o600))
	e := d.trap.fettle(append([]string{"apply", d.dir + "/hostile"}, args...)...)
	var wrong []string
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	wrong = append(wrong, e.strange...)
	if terminal(e.out) || len(e.out) > 64<<10 || strings.Contains(e.out, "panic") {
		say("it prints what nobody should see")
	}
	if e.memory > max(256<<20, ownPeak()) {
		say("it took %d MiB", e.memory>>20)
	}
	now := d.machine()
	switch {
	case e.code == 0:
		d.done++
		for _, c := range changed(d.after, now) {
			say("done, but not what was saved: %s", c)
		}
		d.reset()
	case e.code != 1 && e.code != 5:
		say("it ends with %d", e.code)
	default:
		d.refused++
		if !strings.Contains(e.out, "cannot read the saved plan") && !strings.Contains(e.out, "stale") &&
			!strings.Contains(e.out, "cannot ask") && !strings.Contains(e.out, "--yes") &&
			!strings.Contains(e.out, "error: This step cannot be planned") && !strings.Contains(e.out, "nothing was changed") {
			say("its refusal is not clear")
		}
	}
	if e.code != 0 {
		for _, c := range changed(d.before, now) {
			say("refused, but: %s", c)
		}
	}
	for _, c := range changed(d.around, d.picture(d.home, d.outside, d.repo)) {
		say("around: %s", c)
	}
	if len(wrong) > 0 {
		if d.lost++; d.lost < 6 {
			d.t.Errorf("%s: it ends with %d\n%s\n%.3000s", name, e.code, strings.Join(wrong, "\n"), e.out)
		}
		d.reset()
	}
}

// TestSavedPlans gives plans that somebody has changed to the real program.
func TestSavedPlans(t *testing.T) {
	d, good := newDesk(t)
	d.after = d.before
	if e := d.trap.fettle("apply", "--yes", d.dir+"/good"); e.code != 0 {
		t.Fatalf("the plan itself ends with %d: %s", e.code, e.out)
	}
	d.after = d.machine()
	d.reset()
	d.judge("the plan itself, on the machine put back", good, "--yes")
	if d.done != 1 || d.lost > 0 {
		t.Fatal("what is not hostile is refused")
	}
	a, points := unzip(t, good), 0
	d.judge("taken apart and put together", a.bytes(t), "--yes")
	rng := rand.New(rand.NewPCG(20, 20))
	try := func(all map[string]archive, part int) {
		for i, name := range slices.Sorted(maps.Keys(all)) {
			if i%part == 0 && sample.Has(i/part) || long() {
				points++
				d.judge(name, all[name].bytes(t), "--yes")
			}
		}
	}
	try(a.bombs(), 1)
	try(a.strange(d.evil("saved")), 4)
	texts := map[string]archive{}
	for name, text := range a.texts() {
		texts[name] = a.with("plan.json", text)
	}
	try(texts, 6)
	for i := range pick(100, 8000) {
		name, b := a.random(t, rng, good)
		if !sample.Has(i) {
			continue
		}
		points++
		d.trace = i%20 < sample.Parts
		d.judge(fmt.Sprintf("random %d, %s", i, name), b, "--yes")
	}
	points += d.elsewhere(good)
	campaign.Record(t, campaign.Campaign{Name: "Hostile saved plans", Points: points, Hit: d.refused, Lost: d.lost,
		Detail: fmt.Sprintf("archives with flipped bits, cut, or sealed again; with additional, doubled, missing or huge members; for other hosts and states; the real binary applies them exactly as saved, or refuses them without any effect (in the run: refused; %d applied as saved)", d.done)})
	if _, err := os.Lstat(d.ran); err == nil {
		t.Errorf("something ran: %s", read(d.ran))
	}
}

// elsewhere applies the plan where it does not belong, and plans of an attacker
// without an answer: they are shown, and nothing is done.
func (d *desk) elsewhere(good []byte) (points int) {
	t, before := d.t, d.before
	d.trace = true
	for name, other := range map[string]func(){
		"a file has changed":   func() { write(t, d.root+"/etc/hosts", "127.0.0.2 other\n", 0o644) },
		"a file is gone":       func() { must(t, os.Remove(d.root+"/etc/1.conf")) },
		"a mode has changed":   func() { must(t, os.Chmod(d.root+"/srv/www", 0o700)) },
		"something is there":   func() { write(t, d.root+"/etc/2.conf", "theirs", 0o644) },
		"a machine never seen": func() { must(t, os.RemoveAll(d.root+"/var/lib/fettle")) },
		"a link where a dir was": func() {
			must(t, os.Rename(d.root+"/srv/www", d.root+"/w"))
			must(t, os.Symlink("../w", d.root+"/srv/www"))
		},
		"a later run":      func() { d.must("rollback", "--yes", "0") },
		"a frozen machine": func() { d.must("freeze", "--reason", "for the test") },
	} {
		points++
		d.reset()
		other()
		d.before = d.machine()
		done := d.done
		if name == "a frozen machine" {
			if e := d.trap.fettle("apply", "--yes", d.dir+"/good"); e.code == 0 {
				t.Errorf("%s: it is done", name)
			}
			continue
		}
		if d.judge(name, good, "--yes"); d.done != done {
			t.Errorf("%s: it is done", name)
		}
	}
	d.reset()
	d.before = before
	write(t, filepath.Join(d.dir, "evil.steps"), "EXEC ours "+d.evil("planned")+"\nMKDIR /srv/theirs\n", 0o644)
	if e := d.trap.fettle("steps", "plan", d.dir+"/evil.steps", "--replace-applied-state", "-o",
		d.dir+"/evil.plan"); e.code == 2 {
		points++
		done := d.done
		if d.judge("nobody has said yes", []byte(read(d.dir+"/evil.plan"))); d.done != done {
			t.Error("it is done without an answer")
		}
	} else {
		t.Errorf("the attacker's plan ends with %d: %s", e.code, e.out)
	}
	return points
}
