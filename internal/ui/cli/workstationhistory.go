package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"fettle.dev/fettle/internal/fleet/fanout"
	"fettle.dev/fettle/internal/ui/render"
)

// historyEntry is one operation of this workstation on targets: a line of its history.
type historyEntry struct {
	At      int64             `json:"at"` // ns since 1970
	User    string            `json:"user"`
	Command string            `json:"command"`
	Targets map[string]string `json:"targets"` // what became of each; "" is this machine
}

// WorkstationHistoryDoc is the history of this workstation.
type WorkstationHistoryDoc struct {
	Format  string         `json:"format"` // fettle.here/1
	Entries []historyEntry `json:"deeds"`  // newest first
}

// hereFile is the history of this workstation, "" where there is no place for it.
func hereFile(s *Printer) string {
	if home := stateHome(s); home != "" {
		return filepath.Join(home, "history.jsonl")
	}
	return ""
}

// maxHere is how large the history may become before it is put aside, in bytes: it
// and the one before it are kept.
const maxHere = 4 << 20

// RecordInHistory adds a line to the history of this workstation. If this fails, the command, which has run,
// still succeeds.
func (s *Session) RecordInHistory(targets map[string]string) {
	file := hereFile(s.Printer)
	if file == "" {
		return
	}
	text, err := json.Marshal(historyEntry{At: s.App.Now().UnixNano(), User: s.User(), Command: s.Command,
		Targets: targets})
	if err == nil {
		err = appendLine(file, text)
	}
	if err != nil {
		fmt.Fprintf(s.App.Stderr, "warning: cannot keep the history of this workstation: %v\n", err)
	}
}

// appendLine adds one line in one write, so that two commands do not mix theirs.
func appendLine(file string, line []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	if st, err := os.Stat(file); err == nil && st.Size() > maxHere {
		if err := os.Rename(file, file+".old"); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// historyEntries reads the history of this workstation, oldest first. Lines that a crash cut
// off are left out.
func historyEntries(s *Printer) ([]historyEntry, error) {
	var out []historyEntry
	for _, file := range []string{hereFile(s) + ".old", hereFile(s)} {
		f, err := os.Open(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read the history of this workstation: %w", err)
		}
		sc := bufio.NewScanner(f)
		sc.Buffer(nil, 16<<20)
		for sc.Scan() {
			var d historyEntry
			if json.Unmarshal(sc.Bytes(), &d) == nil {
				out = append(out, d)
			}
		}
		if err := errors.Join(sc.Err(), f.Close()); err != nil {
			return nil, fmt.Errorf("cannot read the history of this workstation: %w", err)
		}
	}
	return out, nil
}

// ShowWorkstationHistory shows what was done from here.
func ShowWorkstationHistory(s *Printer, limit int) error {
	all, err := historyEntries(s)
	if err != nil {
		return err
	}
	newest := make([]historyEntry, 0, len(all))
	for i := len(all) - 1; i >= 0 && (limit <= 0 || len(newest) < limit); i-- {
		newest = append(newest, all[i])
	}
	if s.JSON {
		return s.Document(WorkstationHistoryDoc{Format: "fettle.here/1", Entries: newest})
	}
	if len(newest) == 0 {
		s.Printf("No operation on targets was started from here yet.\n")
		return nil
	}
	var rows [][]string
	for _, d := range newest {
		rows = append(rows, []string{s.Moment(d.At), d.User, d.Command, historyText(d)})
	}
	s.Style().Table(s.App.Stdout, []string{"TIME", "USER", "COMMAND", "TARGETS"}, rows)
	if left := len(all) - len(newest); left > 0 {
		s.Printf("%d older (-n 0 lists all)\n", left)
	}
	return nil
}

// historyText summarises the results of targets: one target by its name, many by their number.
func historyText(d historyEntry) string {
	count := map[string]int{}
	for name, word := range d.Targets {
		if len(d.Targets) == 1 {
			if name == "" {
				name = "this host"
			}
			return name + ": " + word
		}
		count[word]++
	}
	var parts []string
	for _, st := range append(StatusOrder(), fanout.Unset) {
		if n := count[st.String()]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, st))
		}
	}
	return render.Count(len(d.Targets), "target") + ": " + strings.Join(parts, ", ")
}
