package fleet_test

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

func ExampleBinary_Text() {
	p := fleet.Binary{Version: "1.5.0", Files: map[string]fleet.Bundle{"amd64": {Digest: "sha256:aa", Size: 7}},
		Within: 60}
	fmt.Print(string(p.Text()))
	// Output: {"format":"fettle.program/1","version":"1.5.0","files":{"amd64":{"digest":"sha256:aa","size":7}}}
}

func TestBinaryCheck(t *testing.T) {
	good := fleet.Binary{Version: "0.0.0~git412.3f2a1b0",
		Files: map[string]fleet.Bundle{"amd64": {Digest: "sha256:" + strings.Repeat("a", 64), Size: 7}}}
	if err := good.Check(); err != nil || good.Try() != fleet.BinaryTry {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*fleet.Binary){
		"version": func(p *fleet.Binary) { p.Version = "1 2" },
		"none":    func(p *fleet.Binary) { p.Files = nil },
		"arch":    func(p *fleet.Binary) { p.Files = map[string]fleet.Bundle{"../x": good.Files["amd64"]} },
		"size": func(p *fleet.Binary) {
			p.Files = map[string]fleet.Bundle{"amd64": {Digest: good.Files["amd64"].Digest}}
		},
		"digest": func(p *fleet.Binary) { p.Files = map[string]fleet.Bundle{"amd64": {Digest: "x", Size: 1}} },
		"within": func(p *fleet.Binary) { p.Within = int64(fleet.MaxBinaryTry/time.Second) + 1 },
		"soon":   func(p *fleet.Binary) { p.Within = 1 },
	} {
		p := good
		change(&p)
		if p.Check() == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

// An assignment with an unknown field changes nothing, and the error names the required binary.
// Untrusted signatures are still refused.
func TestNewerAssignment(t *testing.T) {
	public, key, err := ed25519.GenerateKey(bytes.NewReader(bytes.Repeat([]byte{7}, 64)))
	if err != nil {
		t.Fatal(err)
	}
	text := `{"format":"fettle.assignment/1","target":"aaaaaaaaaaaaaaaaaaaaaaaaaa","name":"web1","epoch":1,"generation":2,"magic":true,"program":{"version":"2.0","files":{"amd64":{"digest":"sha256:` + strings.Repeat(
		"a", 64) + `","size":7}}}}`
	envelope, err := fleet.Sign([]byte(text), fleet.AssignmentType, key)
	if err != nil {
		t.Fatal(err)
	}
	_, err = fleet.OpenAssignment(envelope, fleet.KeysOf(public))
	var newer *fleet.NewerError
	if !errors.As(err, &newer) || newer.Binary == nil || newer.Binary.Version != "2.0" ||
		!strings.Contains(err.Error(), "magic") {
		t.Errorf("%v", err)
	}
	if _, err := fleet.OpenAssignment(envelope, fleet.Keys{}); errors.As(err, &newer) && newer.Binary != nil &&
		!errors.Is(err, fleet.ErrUnsigned) {
		t.Errorf("nobody signed it, and it is read: %v", err)
	}
}
