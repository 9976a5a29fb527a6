package powercut

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"fettle.dev/fettle/test/campaign"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

// long tells whether the whole campaign is wanted.
func long() bool { return os.Getenv("FETTLE_LONG") != "" }

// build makes the program as it is shipped: static.
func build(t testing.TB, tags string) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "fettle")
	cmd := exec.Command("go", "build", "-tags", tags, "-o", bin, "fettle.dev/fettle/cmd/fettle")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("cannot build: %v\n%s", err, out)
	}
	return bin
}

// TestPowerCut cuts the power while lists are applied, updated and rolled back,
// and while what an earlier cut left is recovered.
func TestPowerCut(t *testing.T) {
	ext4.need(t)
	bin := build(t, "")
	for _, f := range []filesystem{ext4, xfs, btrfs} {
		if f.name != ext4.name && !long() {
			continue
		}
		for _, policy := range []string{"undo", "finish"} {
			t.Run(f.name+"/"+policy, func(t *testing.T) {
				f.need(t)
				life(t, settings{fs: f, bin: bin, policy: policy})
			})
		}
	}
}

func life(t *testing.T, s settings) {
	seed := uint64(1)
	cuts, recoveries, cutsOfRecovery := 70, 1, 20
	if long() {
		cuts, recoveries, cutsOfRecovery = 220, 4, 25
	}
	r := record(t, s)
	t.Logf("%s", r)
	report(t, "Power cut", s.fs.name+", "+s.policy, r.try(t, s.bin, r.points(cuts, seed)),
		"cut while applying, updating and rolling back; fettle recover; compared; rolled back to the origin; compared")
	var sum result
	for i := range recoveries {
		rec := recordRecovery(t, s, r, r.middle(i, seed))
		sum.plus(rec.try(t, s.bin, rec.points(cutsOfRecovery, seed)))
	}
	report(t, "Power cut", s.fs.name+", "+s.policy+", in recovery", sum,
		"cut once, and once more while fettle recover runs; then as above")
}

// middle is a point in the middle of a phase, where recovery has most to do.
func (r *recording) middle(i int, seed uint64) point {
	c := r.candidates(seed)[(i+1)%4]
	p := c[len(c)*(6+i)/10]
	p.keep = All
	return p
}

func (r *recording) String() string {
	s := fmt.Sprintf("%s, %s: %d entries", r.fs.name, r.name, len(r.ops))
	for k, c := range r.candidates(0) {
		s += fmt.Sprintf("; %s %d points", r.phases[k].name, len(c))
	}
	return s
}

// TestSensitivity: without the barriers this very campaign finds losses, in at
// least a fifth of the points.
func TestSensitivity(t *testing.T) {
	ext4.need(t)
	broken, bin := build(t, "fettlenosync"), build(t, "")
	n := 30
	if long() {
		n = 150
	}
	for mode, what := range map[string]string{"machine": "all syncs on the machine are taken out", "barriers": "all syncs but the journal's are taken out"} {
		t.Run(mode, func(t *testing.T) {
			r := record(t, settings{fs: ext4, bin: broken, env: []string{"FETTLE_NOSYNC=" + mode}, policy: "undo"})
			sum := r.try(t, bin, r.points(n, 1))
			if len(sum.lost)*5 < sum.points {
				t.Errorf("only %d of %d points lost anything without barriers: the campaign would not notice", len(sum.lost), sum.points)
			}
			campaign.Record(t, campaign.Campaign{
				Name: "Power cut, barriers taken out to see that it is noticed", Variant: "ext4, undo, " + what, Points: sum.points, Hit: sum.hit, Lost: len(sum.lost),
				Detail: fmt.Sprint(sum.kinds()),
			})
		})
	}
}

// report fails the test for each point that lost anything.
func report(t *testing.T, name, variant string, sum result, detail string) {
	t.Helper()
	for i, v := range sum.lost {
		if i < 5 {
			t.Errorf("%s: %s\n  %s", v.point, v.what, v.detail)
		}
	}
	if n := len(sum.lost); n > 0 {
		t.Errorf("%d of %d points lost something: %v", n, sum.points, sum.kinds())
	}
	detail = fmt.Sprintf("%s (%d old, %d new)", detail, sum.old, sum.new)
	campaign.Record(t, campaign.Campaign{Name: name, Variant: variant, Points: sum.points, Hit: sum.hit, Lost: len(sum.lost), Detail: detail})
}
