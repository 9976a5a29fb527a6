package powercut

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"fettle.dev/fettle/test/campaign"
	"fettle.dev/fettle/test/gobuild"
	"fettle.dev/fettle/test/sample"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

// long tells whether the whole campaign is wanted.
func long() bool { return os.Getenv("FETTLE_LONG") != "" }

// build makes the program as it is shipped: static. It is made once.
func build(t testing.TB, tags string) string {
	t.Helper()
	which := shipped
	if tags != "" {
		which = unsynced
	}
	bin, err := which()
	must(t, err)
	return bin
}

var (
	shipped  = sync.OnceValues(func() (string, error) { return buildWith("") })
	unsynced = sync.OnceValues(func() (string, error) { return buildWith("fettlenosync") })
)

func buildWith(tags string) (string, error) {
	bin := filepath.Join(os.TempDir(), "fettle"+tags)
	return bin, gobuild.Program(bin, gobuild.Fettle, "-tags", tags)
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
	report(t, "Power cut", s.fs.name+", "+s.policy, r.try(t, s.bin, sample.Pick(r.points(cuts, seed))),
		"power cut during apply, update and rollback; fettle recover; compared; rolled back to the origin; compared")
	var sum result
	for i := range recoveries {
		rec := recordRecovery(t, s, r, r.middle(i, seed))
		sum.plus(rec.try(t, s.bin, sample.Pick(rec.points(cutsOfRecovery, seed))))
	}
	report(t, "Power cut", s.fs.name+", "+s.policy+", in recovery", sum,
		"a power cut, and another one during fettle recover; then as above")
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

// TestSensitivity: without barriers this very campaign finds losses: in at least
// a fifth of the points where none but the journal's are left, and still some
// where the state directory keeps its own.
func TestSensitivity(t *testing.T) {
	sample.Group(t, 1, 9)
	ext4.need(t)
	bin, broken := build(t, ""), build(t, "fettlenosync")
	n := 30
	if long() {
		n = 150
	}
	for _, mode := range []struct {
		name, what string
		atLeast    int // lost points
	}{
		{"machine", "all syncs on the host are removed", 1},
		{"barriers", "all syncs except the journal's are removed", n / 5},
	} {
		t.Run(mode.name, func(t *testing.T) {
			r := record(t, settings{fs: ext4, bin: broken, env: []string{"FETTLE_NOSYNC=" + mode.name}, policy: "undo"})
			sum := r.try(t, bin, r.points(n, 1))
			if len(sum.lost) < mode.atLeast {
				t.Errorf("only %d of %d points lost anything, not %d: the campaign would not notice", len(sum.lost), sum.points,
					mode.atLeast)
			}
			campaign.Record(t, campaign.Campaign{
				Name: "Power cut, with syncs removed to verify that the test detects losses", Variant: "ext4, undo, " + mode.what,
				Points: sum.points, Hit: sum.hit, Lost: len(sum.lost),
				Detail: sum.list(),
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
	campaign.Record(t, campaign.Campaign{Name: name, Variant: variant, Points: sum.points, Hit: sum.hit,
		Lost: len(sum.lost), Detail: detail})
}
