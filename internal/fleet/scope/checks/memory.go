package checks

import (
	"encoding/json"
	"fmt"

	"fettle.dev/fettle/internal/fleet/smallfile"
	"fettle.dev/fettle/internal/host"
)

// Memory stores the checks of the newest composition in a file, so that a restart of the agent need not compile.
type Memory struct {
	Files host.FS
	File  string
}

// memory is the content of the file.
type memory struct {
	Key    string  `json:"key"` // of the composition
	Checks []Check `json:"checks"`
}

// Load returns the checks of a composition. ok is false if they are not stored, or not readable.
func (m Memory) Load(key string) (list []Check, ok bool) {
	var has memory
	text, err := smallfile.Read(m.Files, m.File)
	if err != nil || json.Unmarshal(text, &has) != nil || has.Key != key {
		return nil, false
	}
	return has.Checks, true
}

// Save replaces the stored checks.
func (m Memory) Save(key string, list []Check) error {
	text, err := json.Marshal(memory{key, list})
	if err == nil {
		err = smallfile.Write(m.Files, m.File, text)
	}
	if err != nil {
		return fmt.Errorf("cannot store the checks of scopes: %w", err)
	}
	return nil
}
