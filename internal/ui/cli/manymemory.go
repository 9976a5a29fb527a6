package cli

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strconv"

	"fettle.dev/fettle/internal/fleet/fanout"
)

// lastFailed are the targets that the last command on many did not succeed on.
func lastFailed(s *Printer, src *Source) ([]string, error) {
	file := memoryFile(s, src)
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, Refuse("Name them: -t NAME,…",
			"cannot determine the failed targets: no command on many targets of this repository was run from here")
	}
	var m memory
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", file, err)
	}
	var out []string
	for _, name := range SortedNames(m.Targets) {
		switch m.Targets[name] {
		case fanout.Failed.String(), fanout.Unreachable.String(), fanout.Skipped.String():
			out = append(out, name)
		}
	}
	return out, nil
}

// memory is the record of the last command on many targets on this workstation.
type memory struct {
	At      int64             `json:"at"` // ns since 1970
	Command string            `json:"command"`
	Targets map[string]string `json:"targets"` // the result of each
}

// memoryFile is where that of a repository is, "" where there is no place for it.
func memoryFile(s *Printer, src *Source) string {
	home := stateHome(s)
	if home == "" {
		return ""
	}
	top := ""
	if src.Repo != nil {
		top = src.Repo.Top()
	}
	return filepath.Join(home, "last-"+strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte(top+"\x00"+src.Prefix))),
		16)+".json")
}

// Remember keeps what became of targets, for @failed.
func Remember(s *Session, src *Source, all map[string]Outcome) {
	file := memoryFile(s.Printer, src)
	if file == "" {
		return
	}
	m := memory{At: s.App.Now().UnixNano(), Command: s.Command, Targets: map[string]string{}}
	for name, o := range all {
		m.Targets[name] = o.Status.String()
	}
	text, err := json.Marshal(m)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o700)
	}
	if err == nil {
		err = os.WriteFile(file+".new", text, 0o600)
	}
	if err == nil {
		err = os.Rename(file+".new", file)
	}
	if err != nil {
		fmt.Fprintf(s.App.Stderr, "warning: cannot record which targets failed: %v\n", err)
	}
}
