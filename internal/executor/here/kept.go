package here

import (
	"encoding/json"
	"os"
	"path/filepath"

	"fettle.dev/fettle/internal/executor/wire"
)

// Kept describes the assignment that an agent applies to this machine, from the agent's
// state file. It is nil if the file is missing, unreadable or has no accepted assignment.
func Kept(m Machine) *wire.Kept {
	text, err := os.ReadFile(filepath.Join(m.State, "agent", "state.json"))
	if err != nil {
		return nil
	}
	var state struct {
		Accepted *struct { // as fleet.Written has it
			Generation uint64
			Frozen     string
			Revisions  []struct{ Commit, Branch string }
			Top        struct{ Revision int }
		}
	}
	if json.Unmarshal(text, &state) != nil || state.Accepted == nil {
		return nil
	}
	a := state.Accepted
	k := &wire.Kept{Generation: a.Generation, Frozen: a.Frozen}
	if n := a.Top.Revision; n >= 0 && n < len(a.Revisions) {
		k.Commit, k.Branch = a.Revisions[n].Commit, a.Revisions[n].Branch
	}
	return k
}
