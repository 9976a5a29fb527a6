package here

import (
	"encoding/json"
	"os"
	"path/filepath"

	"fettle.dev/fettle/internal/executor/wire"
)

// Kept is what an agent keeps a machine as, by what it has written down; nil where none
// does, or nobody may see it.
func Kept(m Machine) *wire.Kept {
	text, err := os.ReadFile(filepath.Join(m.State, "agent", "state.json"))
	if err != nil {
		return nil
	}
	var state struct {
		Accepted *struct {
			Generation uint64
			Top        struct {
				Revision struct{ Commit, Branch string }
			}
		}
	}
	if json.Unmarshal(text, &state) != nil || state.Accepted == nil {
		return nil
	}
	a := state.Accepted
	return &wire.Kept{Commit: a.Top.Revision.Commit, Branch: a.Top.Revision.Branch, Generation: a.Generation}
}
