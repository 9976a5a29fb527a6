package history

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"fettle.dev/fettle/internal/fleet/fanout"
	"fettle.dev/fettle/internal/hint"
)

// Repository identifies a repository on this workstation.
type Repository struct {
	Top    string // its directory, "" for the targets of a fleet without a repository
	Prefix string // of the files of fettle inside of it, "." for its top
}

// Last is the last command on many targets of a repository.
type Last struct {
	At      int64             `json:"at"` // ns since 1970
	Command string            `json:"command"`
	Targets map[string]string `json:"targets"` // the result of each
}

func (d Dir) lastFile(r Repository) string { return d.fileOf("last-", r, ".json") }

// RolloutFile returns the file for the log of rollouts of a repository, or "" for the directory "".
func (d Dir) RolloutFile(r Repository) string {
	if d == "" {
		return ""
	}
	return d.fileOf("rollout-", r, ".jsonl")
}

func (d Dir) fileOf(prefix string, r Repository, suffix string) string {
	sum := crc32.ChecksumIEEE([]byte(r.Top + "\x00" + r.Prefix))
	return filepath.Join(string(d), prefix+strconv.FormatUint(uint64(sum), 16)+suffix)
}

// SetLast replaces the last command of a repository.
func (d Dir) SetLast(r Repository, l Last) error {
	if d == "" {
		return nil
	}
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return err
	}
	file := d.lastFile(r)
	if err := os.WriteFile(file+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// LastFailed returns the targets, sorted, on which the last command of a repository did not succeed:
// failed, unreachable and skipped targets. Without such a command, it is an error.
func (d Dir) LastFailed(r Repository) ([]string, error) {
	file := d.lastFile(r)
	text, err := os.ReadFile(file)
	if d == "" || err != nil {
		return nil, hint.Refuse("Name them: -t NAME,…",
			"cannot determine the failed targets: no command on many targets of this repository was run from here")
	}
	var l Last
	if err := json.Unmarshal(text, &l); err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", file, err)
	}
	maps.DeleteFunc(l.Targets, func(_, result string) bool {
		return result != fanout.Failed.String() && result != fanout.Unreachable.String() &&
			result != fanout.Skipped.String()
	})
	return slices.Sorted(maps.Keys(l.Targets)), nil
}
