package scopes

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/smallfile"
	"fettle.dev/fettle/internal/host"
)

// journalFormat is the format of the file of a Journal.
const journalFormat = "fettle.hub-attempts/1"

// Journal is the newest attempt of each task on this hub, in a file of the directory of the hub. After a crash at any
// point, the file has its old or its new content.
type Journal struct {
	Files host.FS
	Dir   string
}

// Entry is the newest attempt of a task on this hub.
type Entry struct {
	Fence  uint64 `json:"fence"`
	Digest string `json:"digest"`
	// Ended, Outcome and Text are the result. Outcome "" is unknown.
	Ended   bool              `json:"ended,omitempty"`
	Outcome fleet.TaskOutcome `json:"outcome,omitempty"`
	Text    string            `json:"text,omitempty"`
	// Reported means that the hubs stored the result.
	Reported bool `json:"reported,omitempty"`
}

type journalDoc struct {
	Format   string           `json:"format"`
	Attempts map[string]Entry `json:"attempts"` // by KIND/NAME/TASK
}

func (j Journal) file() string { return path.Join(j.Dir, "task-attempts.json") }

// Load reads the attempts. A file that cannot be read is an error: the attempts in it would be unknown.
func (j Journal) Load() (map[string]Entry, error) {
	text, err := smallfile.Read(j.Files, j.file())
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]Entry{}, nil
	}
	if err != nil {
		return nil, err
	}
	var d journalDoc
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", j.file(), err)
	}
	if d.Format != journalFormat {
		return nil, fmt.Errorf("cannot read %s of the format %.40q: this version of fettle reads %s", j.file(), d.Format,
			journalFormat)
	}
	if d.Attempts == nil {
		d.Attempts = map[string]Entry{}
	}
	return d.Attempts, nil
}

// Save writes the attempts durably.
func (j Journal) Save(all map[string]Entry) error {
	text, err := json.MarshalIndent(journalDoc{journalFormat, all}, "", "  ")
	if err != nil {
		return err
	}
	return smallfile.Write(j.Files, j.file(), append(text, '\n'))
}
