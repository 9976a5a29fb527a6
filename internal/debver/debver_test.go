package debver

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"fettle.dev/fettle/test/needs"
	"fettle.dev/fettle/test/sample"
)

func ExampleCompare() {
	fmt.Println(Compare("1.0~rc1-1", "1.0-1"), Compare("1:0.1", "9.9"), Compare("1.01", "1.1"))
	// Output: -1 1 0
}

func TestCompare(t *testing.T) {
	tests := []struct {
		a, b string
		want int
	}{
		{"1.0", "1.0", 0}, {"0:1.0", "1.0", 0}, {"1.0", "1.0-0", 0}, {"1.0", "1.0-1", -1},
		{"1.10", "1.9", 1}, {"1.0~~", "1.0~", -1}, {"1.0~", "1.0", -1}, {"1.0+b1", "1.0", 1},
		{"1.0a", "1.0+", -1}, {"1-1-1", "1-1", 1}, {"2:1", "1:9", 1}, {"00010", "10", 0},
		{"99999999999999999999999", "99999999999999999999998", 1},
		{"", "1", -1}, {"1", "", 1}, {"x", "y", -1},
	}
	for _, tc := range tests {
		if got := Compare(tc.a, tc.b); got != tc.want {
			t.Errorf("Compare(%q, %q) = %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	tests := map[string]string{
		"": "empty", "a1": "begin with a digit", "1-": "last hyphen", "x:1": "epoch", "-1:1": "epoch", "+1:1": "epoch",
		"99999999999:1": "epoch", "1:": "begin with a digit", "1 0": "' '", "1-é": "revision", "1_0": "'_'",
	}
	for in, want := range tests {
		_, err := Parse(in)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q) = %v, want an error with %q", in, err, want)
		}
	}
}

func version(r *rand.Rand) string {
	const chars = "0019abzZ.+~~"
	part := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteByte(chars[r.IntN(len(chars))])
		}
		return b.String()
	}
	s := fmt.Sprint(r.IntN(3)) + part(r.IntN(6))
	if r.IntN(4) == 0 {
		s += "-" + part(1+r.IntN(3))
	}
	if r.IntN(3) == 0 {
		s += "-" + part(1+r.IntN(4))
	}
	if r.IntN(5) == 0 {
		s = fmt.Sprint(r.IntN(3)) + ":" + s
	}
	return s
}

// near gives b that often equals a, or differs from it by little.
func near(r *rand.Rand, a string) string {
	switch r.IntN(4) {
	case 0:
		return version(r)
	case 1:
		return a + string("~+0a"[r.IntN(4)])
	case 2:
		return strings.Replace(a, "0", "", 1)
	}
	return "0" + a
}

// TestCompareWithDpkg compares with dpkg on 10,000 random pairs, of which a commit selects a part.
func TestCompareWithDpkg(t *testing.T) {
	needs.Program(t, "dpkg")
	r := rand.New(rand.NewPCG(1, 2))
	pairs := make(chan [2]string)
	var wg sync.WaitGroup
	for range runtime.NumCPU() {
		wg.Go(func() {
			for p := range pairs {
				checkPair(t, p[0], p[1])
			}
		})
	}
	for n := 0; n < 10_000; {
		a := version(r)
		b := near(r, a)
		if _, err := Parse(a); err != nil {
			continue
		}
		if _, err := Parse(b); err != nil {
			continue
		}
		if sample.Has(n) {
			pairs <- [2]string{a, b}
		}
		n++
	}
	close(pairs)
	wg.Wait()
}

// checkPair asks dpkg only whether our answer holds: one process a pair.
func checkPair(t *testing.T, a, b string) {
	got := Compare(a, b)
	op := map[int]string{-1: "lt", 0: "eq", 1: "gt"}[got]
	err := exec.Command("dpkg", "--compare-versions", a, op, b).Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		t.Errorf("Compare(%q, %q) = %d, dpkg says otherwise", a, b, got)
	} else if err != nil {
		t.Errorf("dpkg --compare-versions %q %s %q: %v", a, op, b, err)
	}
}

func TestOrderIsTotalAndPrintsBack(t *testing.T) {
	gen := rapid.StringMatching(`([0-2]:)?[0-9][0-9a-z.+~:]{0,5}(-[0-9a-z.+~]{1,4})?`)
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := gen.Draw(t, "a"), gen.Draw(t, "b"), gen.Draw(t, "c")
		if Compare(a, b) != -Compare(b, a) {
			t.Fatalf("Compare(%q, %q) is not the opposite of the other way round", a, b)
		}
		if Compare(a, b) <= 0 && Compare(b, c) <= 0 && Compare(a, c) > 0 {
			t.Fatalf("%q <= %q <= %q, but not %q <= %q", a, b, c, a, c)
		}
		v, err := Parse(a)
		if err != nil {
			return
		}
		back, err := Parse(v.String())
		if err != nil || back != v {
			t.Fatalf("Parse(%q) = %+v, %v, want %+v", v.String(), back, err, v)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"1", "1:2-3", "1:2:3", "a", "-", ":", "1~"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if Compare(a, b) != -Compare(b, a) {
			t.Errorf("Compare(%q, %q) is not the opposite of the other way round", a, b)
		}
	})
}
