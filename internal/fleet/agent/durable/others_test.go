package durable_test

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/executor/here"
	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/durable"
	"fettle.dev/fettle/internal/fleet/agent/machine"
	"fettle.dev/fettle/internal/host/local"
)

// The files of an agent are readable for other programs of the host.
func TestOthersUnderstandWhatIsKept(t *testing.T) {
	state := t.TempDir()
	files, err := local.Open(state, local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir, err := durable.Open(files, "/agent")
	if err != nil {
		t.Fatal(err)
	}
	m := here.Machine{State: state}
	if k := here.Kept(m); k != nil {
		t.Errorf("kept as %+v by nobody", k)
	}
	if err := dir.Save(&machine.StoredState{Format: machine.Format}); err != nil {
		t.Fatal(err)
	}
	if k := here.Kept(m); k != nil {
		t.Errorf("kept as %+v by an agent that was assigned nothing", k)
	}
	commit := strings.Repeat("c", 40)
	top := fleet.Assigned{Revision: fleet.Revision{Repository: "site", Commit: commit, Branch: "main"}}
	a := fleet.Assignment{Format: fleet.AssignmentFormat, Generation: 7, Root: top,
		Modules: []fleet.Assigned{{Module: "modules/web", Revision: top.Revision}}}
	if err := dir.Save(&machine.StoredState{Format: machine.Format, Accepted: &a, Applied: &a}); err != nil {
		t.Fatal(err)
	}
	want := &wire.Kept{Commit: commit, Branch: "main", Generation: 7}
	if k := here.Kept(m); !reflect.DeepEqual(k, want) {
		t.Errorf("kept as %+v (%s), want %+v", k, filepath.Join(state, "agent"), want)
	}
}
