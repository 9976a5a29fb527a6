package program_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/fleet/agent/program"
	"fettle.dev/fettle/internal/host/mem"
)

func build(text string) program.Build {
	sum := sha256.Sum256([]byte(text))
	return program.Build{Digest: "sha256:" + hex.EncodeToString(sum[:]), Version: text}
}

func Example() {
	b := program.Build{Digest: "sha256:aa", Version: "1.5"}
	k := program.Kept{}.Begin(b, time.Minute)
	k, choice := program.Decide(k, program.Self{Version: "1.4"})
	fmt.Println(choice == program.Try, k.Trial.Starts)
	k, choice = program.Decide(k.Settled(b.Digest), program.Self{Version: "1.4"})
	fmt.Println(choice == program.Become, k.Chosen.Version)
	// Output:
	// true 1
	// true 1.5
}

// A package that is newer than what was chosen wins, and one that is not does not.
func TestNewerPackageWins(t *testing.T) {
	k, _ := program.Decide(program.Kept{}.Begin(build("1.5"), time.Minute), program.Self{Version: "1.4"})
	k = k.Settled(build("1.5").Digest)
	for version, want := range map[string]program.Choice{"1.4": program.Become, "1.4.1": program.Become, "1.5": program.Become, "1.10": program.Stay} {
		if _, got := program.Decide(k, program.Self{Version: version}); got != want {
			t.Errorf("the package %s: %d, want %d", version, got, want)
		}
	}
}

// A program that never reaches a hub is begun a few times and then not any more, whoever
// is killed in between; one that did well once and then never stays is given up too.
func TestNoLoop(t *testing.T) {
	old := program.Self{Version: "1.4"}
	k := program.Kept{}.Begin(build("1.5"), time.Minute)
	n := 0
	for choice := program.Try; choice == program.Try; n++ {
		k, choice = program.Decide(k, old)
	}
	if n != 4 || k.Failed == nil || k.Trial != nil || !strings.Contains(k.Failed.Why, "begun 3 times") {
		t.Errorf("%d starts, %+v", n, k)
	}
	k = k.Begin(build("1.6"), time.Minute).Settled(build("1.6").Digest)
	n = 0
	for choice := program.Become; choice == program.Become; n++ {
		k, choice = program.Decide(k, old)
	}
	if n != 11 || k.Chosen != nil || k.Failed == nil {
		t.Errorf("%d starts, %+v", n, k)
	}
}

// What runs in the end is always a program that has reached a hub or that the package
// installed, and each of the others was begun a bounded number of times.
func TestAlwaysComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k, begun := program.Kept{}, map[string]int{}
		well := map[string]bool{}
		runs := "" // the digest of what runs
		for range rapid.IntRange(1, 60).Draw(t, "length") {
			switch rapid.IntRange(0, 3).Draw(t, "event") {
			case 0:
				b := build(fmt.Sprintf("1.%d", rapid.IntRange(5, 8).Draw(t, "version")))
				if k.Failed == nil || k.Failed.Digest != b.Digest {
					k = k.Begin(b, time.Minute)
					delete(begun, b.Digest)
				}
			case 1: // a boot, or the end of a process that somebody killed
				runs = ""
			case 2:
				if runs != "" && (k.Chosen != nil && k.Chosen.Digest == runs || k.Trial != nil && k.Trial.Digest == runs) {
					k, well[runs] = k.Settled(runs), true
					begun[runs] = 0
				}
			}
			var choice program.Choice
			switch k, choice = program.Decide(k, program.Self{Digest: runs, Version: "1.4"}); choice {
			case program.Become:
				if runs = k.Chosen.Digest; !well[runs] {
					t.Fatalf("%s was chosen and has never done well", k.Chosen.Version)
				}
				begun[runs]++
			case program.Try:
				runs = k.Trial.Digest
				begun[runs]++
			}
			if begun[runs] > 10 {
				t.Fatalf("begun %d times", begun[runs])
			}
		}
	})
}

func TestFolder(t *testing.T) {
	files := mem.New(mem.Options{})
	f := program.Folder{Files: files, Dir: "/program"}
	if k, err := f.Load(); err != nil || k.Chosen != nil {
		t.Fatal(k, err)
	}
	good, other := build("good"), build("other")
	if err := f.Install(good, strings.NewReader("evil")); err == nil {
		t.Error("other bytes than the digest says were installed")
	}
	for _, b := range []program.Build{good, other} {
		if err := f.Install(b, strings.NewReader(b.Version)); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Change(func(k program.Kept) program.Kept { return k.Begin(good, time.Minute) }); err != nil {
		t.Fatal(err)
	}
	k, err := f.Load()
	if err != nil || k.Trial == nil || k.Trial.Version != "good" || k.Trial.Within != time.Minute {
		t.Fatalf("%+v %v", k, err)
	}
	if err := f.Clean(k); err != nil {
		t.Fatal(err)
	}
	if err := f.Verify(good); err != nil {
		t.Error(err)
	}
	if err := f.Verify(other); err == nil {
		t.Error("a program that nobody chose is there still")
	}
	w, err := files.OpenWrite("/program/" + program.Name(good))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("b")); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	if err := f.Verify(good); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a damaged program gives %v", err)
	}
	if err := f.Save(program.Kept{Format: "fettle.agent.program/9"}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Load(); err == nil {
		t.Error("a newer format is read")
	}
}
