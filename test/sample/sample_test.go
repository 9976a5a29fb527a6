package sample_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"fettle.dev/fettle/test/sample"
)

// set sets the environment of make test, or another one.
func set(t *testing.T, commit, long string) {
	t.Setenv(sample.Variable, commit)
	t.Setenv("FETTLE_LONG", long)
}

// TestWhole: without a sample, and in the long form, everything runs.
func TestWhole(t *testing.T) {
	for _, env := range [][2]string{{"", ""}, {"", "1"}, {"3f8ed4fd", "1"}} {
		set(t, env[0], env[1])
		if got := sample.Pick([]int{0, 1, 2, 3, 4}); len(got) != 5 {
			t.Errorf("%q: only %v", env, got)
		}
		if got := sample.Numbers(3); len(got) != 3 {
			t.Errorf("%q: only %v", env, got)
		}
		for g := range sample.Parts {
			sample.Group(t, g) // must not skip
		}
	}
}

// TestEachPart: some commit selects each part, the parts are disjoint, and together they are the whole.
func TestEachPart(t *testing.T) {
	seen := map[int]string{}
	for i := range 100 {
		set(t, fmt.Sprintf("commit%d", i), "")
		part, of := sample.Part()
		if part < 0 || part >= of || of != sample.Parts {
			t.Fatalf("part %d of %d", part, of)
		}
		seen[part] = fmt.Sprintf("commit%d", i)
	}
	items := map[int]int{}
	for part := range sample.Parts {
		set(t, seen[part], "")
		for _, item := range sample.Pick([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}) {
			items[item]++
		}
		for _, number := range sample.Numbers(10) {
			items[number]++
		}
		if again, _ := sample.Part(); again != part {
			t.Errorf("%s selects %d, then %d", seen[part], part, again)
		}
	}
	for item := range 10 {
		if items[item] != 2 {
			t.Errorf("item %d is in %d parts of a list and of the numbers, want 1 and 1", item, items[item])
		}
	}
}

// spy records the reason for a skip.
type spy struct {
	testing.TB
	reason string
}

func (s *spy) Helper() {}
func (s *spy) Skipf(format string, args ...any) {
	s.reason = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// TestGroup: one group runs, and the reason for the skip of the others names the command that runs them.
func TestGroup(t *testing.T) {
	set(t, "3f8ed4fd", "")
	part, _ := sample.Part()
	for group := range sample.Parts {
		s := &spy{}
		done := make(chan bool)
		go func() {
			defer close(done)
			sample.Group(s, group)
		}()
		<-done
		skipped := strings.Contains(s.reason, "sample 3f8ed4fd") && strings.Contains(s.reason, "make campaigns runs it")
		if skipped == (group == part) {
			t.Errorf("group %d, with part %d selected: %q", group, part, s.reason)
		}
	}
}

// named is a spy with the name of a test.
type named struct {
	spy
	name string
}

func (n *named) Name() string { return n.name }

// TestByName: the names of tests are spread over the parts, and a selected test runs.
func TestByName(t *testing.T) {
	set(t, "3f8ed4fd", "")
	ran := 0
	for i := range 80 {
		if runs(sample.ByName, fmt.Sprintf("TestKinds%d/trixie", i)) {
			ran++
		}
	}
	if ran < 2 || ran > 25 {
		t.Errorf("%d of 80 tests run", ran)
	}
}

// runs reports whether a test with this name is in the sample.
func runs(choose func(testing.TB), name string) (ran bool) {
	done := make(chan bool)
	go func() {
		defer close(done)
		choose(&named{name: name})
		ran = true
	}()
	<-done
	return ran
}

// TestHalf: each test is in half of the parts, and each part has some of the tests.
func TestHalf(t *testing.T) {
	const names = 20
	byName, byPart := map[string]int{}, map[int]int{}
	for i := 0; len(byPart) < sample.Parts; i++ {
		set(t, fmt.Sprintf("commit%d", i), "")
		part, _ := sample.Part()
		if _, seen := byPart[part]; seen {
			continue
		}
		byPart[part] = 0
		for n := range names {
			if name := fmt.Sprintf("TestKinds%d", n); runs(sample.Half, name) {
				byName[name]++
				byPart[part]++
			}
		}
	}
	for name, parts := range byName {
		if parts != sample.Parts/2 {
			t.Errorf("%s is in %d of %d parts", name, parts, sample.Parts)
		}
	}
	for part, tests := range byPart {
		if tests == 0 || tests == names {
			t.Errorf("part %d has %d of %d tests", part, tests, names)
		}
	}
}

// A commit always has the same seed, and another commit another one.
func TestSeed(t *testing.T) {
	seeds := map[uint64]bool{}
	for _, text := range []string{"3f8ed4fd", "3f8ed4fd", "3f8ed4fe"} {
		set(t, text, "")
		seeds[sample.Seed()] = true
	}
	if len(seeds) != 2 || seeds[0] {
		t.Errorf("the seeds of two commits are %v", seeds)
	}
	set(t, "3f8ed4fd", "1")
	if sample.Seed() != 0 {
		t.Error("long tests have a fixed seed")
	}
}
