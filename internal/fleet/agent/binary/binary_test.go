package binary_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/fleet/agent/binary"
	"fettle.dev/fettle/internal/host/mem"
)

func build(text string) binary.Build {
	sum := sha256.Sum256([]byte(text))
	return binary.Build{Digest: "sha256:" + hex.EncodeToString(sum[:]), Version: text}
}

func Example() {
	b := binary.Build{Digest: "sha256:aa", Version: "1.5"}
	k := binary.Kept{}.Begin(b, time.Minute)
	k, choice := binary.Decide(k, binary.Self{Version: "1.4"})
	fmt.Println(choice == binary.Try, k.Trial.Starts)
	k, choice = binary.Decide(k.Settled(b.Digest), binary.Self{Version: "1.4"})
	fmt.Println(choice == binary.Become, k.Chosen.Version)
	// Output:
	// true 1
	// true 1.5
}

// A newer package replaces the chosen binary; an older one does not.
func TestNewerPackageWins(t *testing.T) {
	k, _ := binary.Decide(binary.Kept{}.Begin(build("1.5"), time.Minute), binary.Self{Version: "1.4"})
	k = k.Settled(build("1.5").Digest)
	for version, want := range map[string]binary.Choice{"1.4": binary.Become, "1.4.1": binary.Become,
		"1.5": binary.Become, "1.10": binary.Stay} {
		if _, got := binary.Decide(k, binary.Self{Version: version}); got != want {
			t.Errorf("the package %s: %d, want %d", version, got, want)
		}
	}
}

// A binary that never reaches a hub is given up after a few starts, even if processes are killed in
// between. A binary that worked once and then never again is given up too.
func TestNoLoop(t *testing.T) {
	old := binary.Self{Version: "1.4"}
	k := binary.Kept{}.Begin(build("1.5"), time.Minute)
	n := 0
	for choice := binary.Try; choice == binary.Try; n++ {
		k, choice = binary.Decide(k, old)
	}
	if n != 4 || k.Failed == nil || k.Trial != nil || !strings.Contains(k.Failed.Why, "started 3 times") {
		t.Errorf("%d starts, %+v", n, k)
	}
	k = k.Begin(build("1.6"), time.Minute).Settled(build("1.6").Digest)
	n = 0
	for choice := binary.Become; choice == binary.Become; n++ {
		k, choice = binary.Decide(k, old)
	}
	if n != 11 || k.Chosen != nil || k.Failed == nil {
		t.Errorf("%d starts, %+v", n, k)
	}
}

// The binary that finally runs has reached a hub or belongs to the package. All other binaries were
// started a limited number of times.
func TestAlwaysComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k, begun := binary.Kept{}, map[string]int{}
		well := map[string]bool{}
		runs := "" // digest of the running binary
		for range rapid.IntRange(1, 60).Draw(t, "length") {
			switch rapid.IntRange(0, 3).Draw(t, "event") {
			case 0:
				b := build(fmt.Sprintf("1.%d", rapid.IntRange(5, 8).Draw(t, "version")))
				if k.Failed == nil || k.Failed.Digest != b.Digest {
					k = k.Begin(b, time.Minute)
					delete(begun, b.Digest)
				}
			case 1: // a boot, or the end of a killed process
				runs = ""
			case 2:
				if runs != "" && (k.Chosen != nil && k.Chosen.Digest == runs || k.Trial != nil && k.Trial.Digest == runs) {
					k, well[runs] = k.Settled(runs), true
					begun[runs] = 0
				}
			}
			var choice binary.Choice
			switch k, choice = binary.Decide(k, binary.Self{Digest: runs, Version: "1.4"}); choice {
			case binary.Become:
				if runs = k.Chosen.Digest; !well[runs] {
					t.Fatalf("%s was chosen and has never done well", k.Chosen.Version)
				}
				begun[runs]++
			case binary.Try:
				runs = k.Trial.Digest
				begun[runs]++
			}
			if begun[runs] > 10 {
				t.Fatalf("begun %d times", begun[runs])
			}
		}
	})
}

func TestDirectory(t *testing.T) {
	files := mem.New(mem.Options{})
	f := binary.Directory{Files: files, Dir: "/program"}
	if k, err := f.Load(); err != nil || k.Chosen != nil {
		t.Fatal(k, err)
	}
	good, other := build("good"), build("other")
	if err := f.Install(good, strings.NewReader("evil")); err == nil {
		t.Error("other bytes than the digest says were installed")
	}
	for _, b := range []binary.Build{good, other} {
		if err := f.Install(b, strings.NewReader(b.Version)); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Change(func(k binary.Kept) binary.Kept { return k.Begin(good, time.Minute) }); err != nil {
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
	w, err := files.OpenWrite("/program/" + binary.Name(good))
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
	if err := f.Save(binary.Kept{Format: "fettle.agent.program/9"}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Load(); err == nil {
		t.Error("a newer format is read")
	}
}
