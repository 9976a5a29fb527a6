package fleet_test

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

func sample() fleet.Assignment {
	rev := fleet.Revision{Repository: "site", Commit: strings.Repeat("a", 40), Time: 5}
	bundle := fleet.Bundle{Digest: "sha256:" + strings.Repeat("0", 64), Size: 3}
	return fleet.Assignment{
		Format: fleet.AssignmentFormat, Target: "aaaaaaaaaaaaaaaaaaaaaaaaaa", Name: "web1", Epoch: 1, Generation: 7,
		Root:    fleet.Assigned{Revision: rev, Bundle: bundle},
		Modules: []fleet.Assigned{{Module: "modules/web", Revision: rev, Bundle: bundle}},
	}
}

func key(seed byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
}

func publicOf(k ed25519.PrivateKey) ed25519.PublicKey { return k.Public().(ed25519.PublicKey) }

func Example() {
	hub := key(1)
	envelope, _ := fleet.Sign(sample().Marshal(), fleet.AssignmentType, hub)
	a, err := fleet.OpenAssignment(envelope, fleet.KeysOf(publicOf(hub)))
	fmt.Println(a.Name, a.Generation, err)
	_, err = fleet.OpenAssignment(envelope, fleet.KeysOf(publicOf(key(2))))
	fmt.Println(err)
	// Output:
	// web1 7 <nil>
	// cannot trust the signed data: no trusted key signed it
}

// If any byte of an envelope is changed, it is refused or has the same assignment.
func TestForgedAssignments(t *testing.T) {
	hub := key(1)
	envelope, err := fleet.Sign(sample().Marshal(), fleet.AssignmentType, hub)
	if err != nil {
		t.Fatal(err)
	}
	keys := fleet.KeysOf(publicOf(hub))
	for i := range envelope {
		forged := bytes.Clone(envelope)
		forged[i] ^= 1
		if a, err := fleet.OpenAssignment(forged, keys); err == nil && !bytes.Equal(a.Marshal(), sample().Marshal()) {
			t.Fatalf("byte %d: a forged assignment is believed", i)
		}
	}
	if _, err := fleet.Open(envelope, fleet.FactType, keys); err == nil {
		t.Error("an assignment is taken for another type")
	}
}

func TestAssignmentsThatAreRefused(t *testing.T) {
	cases := map[string]func(*fleet.Assignment){
		"format":           func(a *fleet.Assignment) { a.Format = "fettle.assignment/1" },
		"without":          func(a *fleet.Assignment) { a.Generation = 0 },
		"identity":         func(a *fleet.Assignment) { a.Target = "../x" },
		"the module":       func(a *fleet.Assignment) { a.Modules[0].Module = "modules/../../etc" },
		"twice":            func(a *fleet.Assignment) { a.Modules = append(a.Modules, a.Modules[0]) },
		"the commit":       func(a *fleet.Assignment) { a.Root.Revision.Commit = "main" },
		"digest":           func(a *fleet.Assignment) { a.Root.Bundle.Digest = "md5:0" },
		"name of a target": func(a *fleet.Assignment) { a.Name = "a/b" },
		"variable": func(a *fleet.Assignment) {
			a.Environment = &fleet.Environment{Name: "a", Parent: "b", Vars: map[string]string{"a b": ""}}
		},
		"cannot use the label": func(a *fleet.Assignment) { a.Labels = map[string]string{"a b": ""} },
	}
	for want, change := range cases {
		a := sample()
		change(&a)
		if _, err := fleet.ParseAssignment(a.Marshal()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := fleet.ParseAssignment(bytes.Replace(sample().Marshal(), []byte(`"name"`), []byte(`"nome"`),
		1)); err == nil {
		t.Error("a field that nobody knows is taken")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(sample().Marshal())
	f.Add([]byte(`{"format":"fettle.report/1","seq":1,"target":"aaaaaaaaaaaaaaaaaaaaaaaaaa","event":{"kind":"started"}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if a, err := fleet.ParseAssignment(b); err == nil {
			if again, err := fleet.ParseAssignment(a.Marshal()); err != nil || !a.Same(again) {
				t.Errorf("%v: does not come back", err)
			}
		}
		_, _ = fleet.ParseReport(b)
		if _, err := fleet.Open(b, fleet.FactType, nil); err == nil {
			t.Error("believed without a key")
		}
	})
}

func TestTargetIDs(t *testing.T) {
	id, err := fleet.NewTargetID(nil)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := fleet.ParseTargetID(string(id)); err != nil || again != id {
		t.Errorf("%q, %v", again, err)
	}
	if _, err := fleet.NewTargetID(strings.NewReader("short")); err == nil {
		t.Error("an identity of too little randomness")
	}
	if _, err := fleet.ParseTargetID(strings.ToUpper(string(id))); err == nil {
		t.Error("one identity is written in two ways")
	}
	if a, b := sample(), sample(); func() bool { b.Generation++; return a.Newer(b) >= 0 || !a.Same(b) }() {
		t.Error("generations do not compare")
	}
}

// Most modules of a target have the same revision, which is written once.
func TestRevisionsAreWrittenOnce(t *testing.T) {
	a := sample()
	a.Root.Revision.Subject = "a subject that is long enough to be counted"
	other := a.Root.Revision
	other.Commit = strings.Repeat("c", 40)
	a.Modules = nil
	for i := range 50 {
		m := fleet.Assigned{Module: fmt.Sprintf("modules/m%d", i), Revision: a.Root.Revision, Bundle: a.Root.Bundle}
		if i%10 == 3 {
			m.Revision = other
		}
		a.Modules = append(a.Modules, m)
	}
	text := a.Marshal()
	if n := bytes.Count(text, []byte(a.Root.Revision.Subject)); n != 2 {
		t.Errorf("two revisions are written %d times", n)
	}
	parsed, err := fleet.ParseAssignment(text)
	if err != nil || !parsed.Same(a) {
		t.Errorf("%v, %+v", err, parsed)
	}
	type keeper struct{ A *fleet.Assignment }
	kept, err := json.Marshal(keeper{&a})
	var again keeper
	if err := cmp.Or(err, json.Unmarshal(kept, &again)); err != nil || !again.A.Same(a) {
		t.Errorf("%v, %s", err, kept)
	}
	for _, n := range []string{"-1", "2", "1.5"} {
		bad := bytes.Replace(text, []byte(`"revision":1`), []byte(`"revision":`+n), 1)
		if _, err := fleet.ParseAssignment(bad); err == nil {
			t.Errorf("revision %s of two is taken", n)
		}
	}
}

// TestRunTimes: only the end of a recorded run has a run time, and an impossible one is unknown.
func TestRunTimes(t *testing.T) {
	for _, c := range []struct {
		e    fleet.Event
		want time.Duration
	}{
		{fleet.Event{Kind: fleet.Applied, Run: 3, Duration: 5e9}, 5 * time.Second},
		{fleet.Event{Kind: fleet.Failed, Run: 3, Duration: 1}, 1},
		{fleet.Event{Kind: fleet.RolledBack, Run: 3, Duration: int64(fleet.MaxRunTime)}, fleet.MaxRunTime},
		{fleet.Event{Kind: fleet.Repaired, Run: 1, Duration: 7}, 7},
		{fleet.Event{Kind: fleet.Applied, Run: 3}, 0}, // an older agent
		{fleet.Event{Kind: fleet.Applied, Run: 3, Duration: -5}, 0},
		{fleet.Event{Kind: fleet.Applied, Run: 3, Duration: int64(fleet.MaxRunTime) + 1}, 0},
		{fleet.Event{Kind: fleet.Applied, Run: 3, Duration: math.MinInt64}, 0},
		{fleet.Event{Kind: fleet.Applied, Duration: 5e9}, 0}, // nothing was recorded
		{fleet.Event{Kind: fleet.Applied, Run: -1, Duration: 5e9}, 0},
		{fleet.Event{Kind: fleet.Drifted, Run: 3, Duration: 5e9}, 0},
		{fleet.Event{Kind: fleet.Ready, Run: 3, Duration: 5e9}, 0},
	} {
		if got, ok := c.e.RunTime(); ok != (c.want > 0) || ok && got != c.want {
			t.Errorf("%+v: %v, %t", c.e, got, ok)
		}
	}
	text := `{"format":"fettle.report/1","target":"` + string(sample().Target) +
		`","seq":1,"event":{"kind":"applied","run":1,"duration_ns":%s},"status":{}}`
	for _, hostile := range []string{"1e400", "NaN", `"5"`, "5.5", "99999999999999999999"} {
		if _, err := fleet.ParseReport(fmt.Appendf(nil, text, hostile)); err == nil {
			t.Errorf("a report with the duration %s is accepted", hostile)
		}
	}
}
