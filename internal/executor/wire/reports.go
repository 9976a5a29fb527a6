package wire

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/journal"
)

// Reports stores the reports that no client received, in a state directory. The runs
// themselves are in the journal: only the delivery of a report can be lost here.
type Reports struct{ FS host.FS }

const (
	reportsDir = "/reports"
	// maxReport bounds one report, maxReports how many are kept.
	maxReport  = 4 << 20
	maxReports = 100
)

// Keep keeps a report, durably. Its name follows from when it ended.
func (r Reports) Keep(e Ended) error {
	if err := r.FS.Mkdir(reportsDir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("cannot store the report: %w", err)
	}
	e.Name = fmt.Sprintf("%019d.json", e.Ended)
	text, err := journal.Marshal(e)
	if err != nil || len(text) > maxReport {
		return errors.Join(err, errors.New("cannot store the report: it is too large"))
	}
	p := path.Join(reportsDir, e.Name)
	f, err := r.FS.Create(p + ".new")
	if err != nil {
		return fmt.Errorf("cannot store the report: %w", err)
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("cannot store the report: %w", err)
	}
	return errors.Join(r.FS.Rename(p+".new", p), r.FS.SyncDir(reportsDir), r.prune())
}

// prune removes the oldest of too many.
func (r Reports) prune() error {
	names, err := r.FS.ReadDir(reportsDir)
	if err != nil || len(names) <= maxReports {
		return err
	}
	for _, name := range names[:len(names)-maxReports] {
		if err := r.FS.Remove(path.Join(reportsDir, name)); err != nil {
			return err
		}
	}
	return nil
}

// List returns the stored reports, oldest first. Unreadable reports are omitted.
func (r Reports) List() []Ended {
	names, err := r.FS.ReadDir(reportsDir)
	if err != nil {
		return nil
	}
	var out []Ended
	for _, name := range names {
		if e, err := r.read(name); err == nil && strings.HasSuffix(name, ".json") {
			out = append(out, e)
		}
	}
	return out
}

func (r Reports) read(name string) (Ended, error) {
	f, err := r.FS.Open(path.Join(reportsDir, name))
	if err != nil {
		return Ended{}, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxReport))
	if err != nil {
		return Ended{}, err
	}
	var e Ended
	err = journal.Unmarshal(text, &e)
	e.Name = name
	return e, err
}

// Forget removes reports by name. It ignores missing reports.
func (r Reports) Forget(names []string) error {
	for _, name := range names {
		if path.Base(name) != name || !strings.HasSuffix(name, ".json") {
			return fmt.Errorf("cannot remove the report %q: there is no such report", name)
		}
		if err := r.FS.Remove(path.Join(reportsDir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
