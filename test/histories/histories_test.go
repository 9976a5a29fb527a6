package histories

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"fettle.dev/fettle/test/gobuild"
	"fettle.dev/fettle/test/needs"
	"fettle.dev/fettle/test/sample"
)

var (
	rounds = flag.Int("rounds", 0, "so many rounds instead of the usual number")
	only   = flag.Uint64("round", 0, "only this round")
	seed   = flag.Uint64("seed", 20261123, "the seed of the rounds")
	keepOn = flag.Int("failures", 1, "stop after so many counterexamples")
	edits  = flag.Int("edits", 0, "so many of a hundred draws for a file are edits, besides the usual ones")
	shrunk = flag.Bool("shrink", true, "shrink counterexamples")
)

// kit is what all rounds share.
type kit struct{ bin, helper, dir string }

// newKit builds the program and the helper. Its directory is in memory where there is
// some: thousands of syncs cost nothing there, and a kill loses nothing anywhere.
func newKit(t *testing.T) kit {
	t.Helper()
	needs.Root(t)
	dir, err := os.MkdirTemp("/dev/shm", "fettle-histories-")
	if err != nil {
		dir = t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	k := kit{filepath.Join(dir, "fettle"), filepath.Join(dir, "helper"), dir}
	if err := gobuild.Program(k.bin, gobuild.Fettle, "-tags", "fettlefault"); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "build", "-o", k.helper, "./testdata/helper")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return k
}

// TestRounds plays random histories.
func TestRounds(t *testing.T) {
	k, n := newKit(t), 115
	if os.Getenv("FETTLE_LONG") != "" {
		n = 10_000
	}
	if *rounds > 0 {
		n = *rounds
	}
	if *only > 0 {
		n = int(*only)
	}
	chosen := *rounds + int(*only) // by the user
	var next, bad atomic.Int64
	next.Store(int64(max(*only, 1) - 1))
	var mu sync.Mutex
	saw := map[string]int{}
	var wait sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			mine := map[string]int{}
			for i := next.Add(1); i <= int64(n) && bad.Load() < int64(*keepOn); i = next.Add(1) {
				if i%100 == 0 && testing.Verbose() {
					t.Logf("seed %d, round %d", *seed, i)
				}
				if chosen == 0 && !sample.Has(int(i)) {
					continue
				}
				c := draw(*seed, uint64(i))
				if v, noise := play(k, c, mine); v != nil {
					bad.Add(1)
					tell(t, k, fmt.Sprintf("seed %d, round %d", *seed, i), c, v, noise)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			for what, times := range mine {
				saw[what] += times
			}
		})
	}
	wait.Wait()
	t.Log(count(saw))
	if _, parts := sample.Part(); chosen == 0 && parts == 1 && !t.Failed() {
		reached(t, saw)
	}
}

// reached looks whether the usual rounds come to everything that they are for.
func reached(t *testing.T, saw map[string]int) {
	for _, what := range []string{
		"apply ok", "apply nothing", "apply refused", "apply failed", "apply undone", "plan", "drift", "gc",
		"rollback run", "rollback origin", "killed", "recovered",
		"hand write", "hand file", "hand dir", "hand link", "hand rm", "hand chmod", "hand chown",
		"removes a tree", "purges", "adopts", "repairs", "forgets", "rollback after a rollback",
		"edit by hand in a purged tree", "action a1", "action a2",
	} {
		if saw[what] == 0 {
			t.Errorf("no round comes to: %s", what)
		}
	}
	if saw["apply ok"] < saw["apply refused"] {
		t.Errorf("%d lists were applied and %d refused: draw better ones", saw["apply ok"], saw["apply refused"])
	}
}

func count(saw map[string]int) string {
	var out []string
	for what, n := range saw {
		out = append(out, fmt.Sprintf("%6d %s", n, what))
	}
	slices.SortFunc(out, func(a, b string) int { return strings.Compare(a[7:], b[7:]) })
	return "reached:\n" + strings.Join(out, "\n")
}

// tell shows a counterexample, as small as it becomes.
func tell(t *testing.T, k kit, name string, c Case, v *verdict, noise string) {
	if *shrunk {
		c, v, noise = shrink(k, c, v, noise)
	}
	t.Errorf("%s: %s\n%s\n\n%s\n%s", name, v.rule, v.text, c, noise)
}

// TestScripts plays what was recorded.
func TestScripts(t *testing.T) {
	k := newKit(t)
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			c, err := ParseCase(text)
			if err != nil {
				t.Fatal(err)
			}
			v, noise := play(k, c, map[string]int{})
			if v != nil {
				t.Errorf("%s\n%s\n%s", v.rule, v.text, noise)
			} else if testing.Verbose() {
				t.Log(noise)
			}
		})
	}
}

// TestOpen plays what is known to be wrong still. A script that passes moves to the others.
func TestOpen(t *testing.T) {
	files, err := filepath.Glob("testdata/open/*.txtar")
	if err != nil || len(files) == 0 {
		t.Skip("nothing is open")
	}
	k := newKit(t)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			c, err := ParseCase(text)
			if err != nil {
				t.Fatal(err)
			}
			if v, noise := play(k, c, map[string]int{}); v == nil {
				t.Error("it passes: move the script to testdata")
			} else {
				t.Log(noise)
				t.Skip(v.rule + ": " + v.text)
			}
		})
	}
}
