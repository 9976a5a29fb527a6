package view_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/view"
)

// hashed returns a digest with 64 digits.
func hashed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// many is a fleet in which all targets have the same modules. Each commit changes one of them.
type many struct{ targets, modules int }

func (m many) target(n int) fleet.Target {
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(nil, uint64(n)))
	var random [16]byte
	copy(random[:], sum[:])
	id, err := fleet.NewTargetID(reader(random[:]))
	if err != nil {
		panic(err)
	}
	return fleet.Target{
		ID: id, Name: fmt.Sprintf("web%05d", n), Labels: map[string]string{"env": "prod", "role": "web"},
		Standing: fleet.Active, Key: "sha256:" + hashed(string(id)),
		Serials: []string{hashed(string(id))[:32]}, Token: "6xymi3bc", Enrolled: 1_795_355_153, Changed: 1_795_355_153,
		By: "token 6xymi3bc",
	}
}

type reader []byte

func (r reader) Read(b []byte) (int, error) { return copy(b, r), nil }

// list returns the assigned modules after a commit.
func (m many) list(commit int) (out []fleet.Assigned) {
	for i := range m.modules {
		at := 0
		if i == 0 {
			at = commit
		}
		name := fmt.Sprintf("modules/m%03d", i)
		out = append(out, fleet.Assigned{
			Module: name, Revision: fleet.Revision{Repository: "site", Commit: hashed(fmt.Sprint(at))[:40], Branch: "main"},
			Bundle: fleet.Bundle{Digest: "sha256:" + hashed(fmt.Sprint(name, at)), Size: 1024},
		})
	}
	return out
}

// reports returns the reports of a target about a commit: accepted, applied and ready.
func (m many) reports(t fleet.Target, commit int, list []fleet.Assigned) (out [][]byte) {
	for i, kind := range []fleet.EventKind{fleet.Accepted, fleet.Applied, fleet.Ready} {
		seq := uint64(commit*3 + i + 1)
		at := time.Unix(1_795_355_153+int64(60*commit+i), int64(seq)*98_765_432+int64(len(t.Name))).UnixNano()
		r := fleet.Report{Format: fleet.ReportFormat, Target: t.ID, Seq: seq, At: at,
			Event: fleet.Event{Kind: kind, Run: commit + 1, Text: fmt.Sprintf("generation 1795355153.%d", commit+1)}}
		r.Status = fleet.Status{Epoch: 1_795_355_153, Generation: uint64(commit + 1), Version: "1.0", Run: commit + 1,
			Changed: at, Facts: map[string]string{"os": "debian 13"}}
		for k, a := range list {
			s := fleet.ModuleStatus{Module: a.Module, State: fleet.ModuleReady, Since: 1_795_355_153_000_000_000,
				Commit: a.Revision.Commit, Bundle: a.Bundle.Digest}
			switch {
			case kind == fleet.Accepted && commit == 0:
				s.State, s.Commit, s.Bundle = fleet.ModulePending, "", ""
			case commit > 0 && k == 0:
				s.Since = at
			}
			r.Status.Modules = append(r.Status.Modules, s)
		}
		out = append(out, record(r))
	}
	return out
}

// The size of a target with 50 modules in the model is limited, and also the size of the events of
// each further commit.
func TestBytesOfATarget(t *testing.T) {
	m, most := many{150, 50}, int64(2550) // with the first page of each table and index
	if os.Getenv("FETTLE_LONG") != "" {
		m.targets, most = 1000, 1800
	}
	file := filepath.Join(t.TempDir(), "view.db")
	v, err := view.Open(file, view.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var seq uint64
	for commit := range 4 {
		list := m.list(commit)
		for n := range m.targets {
			target := m.target(n)
			put(t, v, target)
			a := fleet.Assignment{Format: fleet.AssignmentFormat, Target: target.ID, Name: target.Name, Epoch: 1_795_355_153,
				Generation: uint64(commit + 1), Root: list[0], Modules: list}
			if err := v.PutAssignment(t.Context(), a); err != nil {
				t.Fatal(err)
			}
			seq++
			if err := v.Append(t.Context(), seq, m.reports(target, commit, list)); err != nil {
				t.Fatal(err)
			}
		}
	}
	page, err := v.Modules(t.Context(), time.Unix(1_795_355_153+200, 0))
	if err != nil || len(page.Modules) != m.modules || page.Modules[0].Targets != m.targets ||
		page.Modules[0].States[fleet.ModuleReady] != m.targets || page.Modules[0].Behind != 0 ||
		len(page.Modules[0].Revisions) != 1 {
		t.Errorf("%+v, %v", page.Modules[0], err)
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	each := st.Size() / int64(m.targets)
	t.Logf("%d bytes a target", each)
	if each > most {
		t.Errorf("a target takes %d bytes of the model", each)
	}
}
