// Package durable stores the state of an agent on disk: the state of its state machine, and the
// reports that no hub has acknowledged.
//
//	d, err := durable.Open(files, "/agent")
//	kept, err := d.Load()
//	err = d.Save(&kept)              // atomic and durable
//	err = d.Append(report)           // atomic and durable
//
// The directory contains
//
//	state.json           machine.StoredState
//	outbox/N.json        reports, by their numbers with leading zeros
package durable

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/machine"
	"fettle.dev/fettle/internal/fleet/smallfile"
	"fettle.dev/fettle/internal/host"
)

// maxState is the maximum size of state.json in bytes. It contains two assignments, an envelope and
// the accepted jobs.
const maxState = 16 << 20

// Dir is the directory of an agent. It must be used by one goroutine of one process.
type Dir struct {
	files  host.FS
	dir    string
	newest uint64 // number of the newest report in the outbox; oldest is the oldest
	oldest uint64
	known  map[*fleet.Assignment][]byte // encoded assignments, so that Save need not encode them again
}

// Open opens the directory, and creates it if its parent exists.
func Open(files host.FS, dir string) (*Dir, error) {
	d := &Dir{files: files, dir: dir}
	for _, p := range []string{dir, d.outbox()} {
		if err := files.Mkdir(p, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("cannot create the directory of the agent: %w", err)
		}
	}
	if err := errors.Join(files.SyncDir(dir), files.SyncDir(path.Dir(dir))); err != nil {
		return nil, fmt.Errorf("cannot create the directory of the agent: %w", err)
	}
	return d, d.scan(true)
}

// Look opens the directory for reading. It can be used while an agent runs, and changes nothing.
func Look(files host.FS, dir string) (*Dir, error) {
	d := &Dir{files: files, dir: dir}
	return d, d.scan(false)
}

func (d *Dir) outbox() string { return path.Join(d.dir, "outbox") }

func (d *Dir) report(seq uint64) string {
	return path.Join(d.outbox(), fmt.Sprintf("%020d.json", seq))
}

// scan finds the reports in the outbox. With clean it removes incomplete files. Drop removes
// reports in ascending order, but after a power failure some removed reports can reappear, so all
// reports below a gap count as dropped.
func (d *Dir) scan(clean bool) error {
	names, err := d.files.ReadDir(d.outbox())
	if errors.Is(err, fs.ErrNotExist) && !clean {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot read the outbox: %w", err)
	}
	there := map[uint64]bool{}
	for _, name := range names {
		seq, err := strconv.ParseUint(strings.TrimSuffix(name, ".json"), 10, 64)
		if err != nil || seq == 0 {
			if !clean {
				continue
			}
			_ = d.files.Remove(path.Join(d.outbox(), name))
			continue
		}
		there[seq] = true
		d.newest = max(d.newest, seq)
	}
	for d.oldest = d.newest; there[d.oldest-1]; d.oldest-- {
	}
	for seq := range there {
		if clean && seq < d.oldest {
			_ = d.files.Remove(d.report(seq))
		}
	}
	return nil
}

// Reports returns the numbers of the newest report and of the newest dropped report, for
// machine.New. Both are 0 for an outbox without any report.
func (d *Dir) Reports() (newest, dropped uint64) {
	if d.newest == 0 {
		return 0, 0
	}
	return d.newest, d.oldest - 1
}

// Load reads the stored state; the zero value if there is none.
func (d *Dir) Load() (machine.StoredState, error) {
	var k machine.StoredState
	text, err := d.read(path.Join(d.dir, "state.json"), maxState)
	if errors.Is(err, fs.ErrNotExist) {
		return k, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &k)
	}
	if err != nil {
		return k, fmt.Errorf("cannot read the state of the agent: %w", err)
	}
	if k.Format != machine.Format {
		return k, fmt.Errorf(
			"cannot read the state of the agent: it has the format %.40q, and this version of fettle reads only %s", k.Format,
			machine.Format)
	}
	return k, nil
}

// Save replaces the stored state durably. It caches the encoding of assignments by their pointers,
// so the assignments of k must not be modified.
func (d *Dir) Save(k *machine.StoredState) error {
	text, err := d.written(*k)
	if err == nil {
		err = d.write(path.Join(d.dir, "state.json"), text)
	}
	if err != nil {
		return fmt.Errorf("cannot store the state of the agent: %w", err)
	}
	return nil
}

// written encodes k, with the assignments at the end. They are the larger part and rarely change,
// so their encoding is cached.
func (d *Dir) written(k machine.StoredState) ([]byte, error) {
	parts := []struct {
		name string
		of   *fleet.Assignment
	}{{"accepted", k.Accepted}, {"good", k.Applied}}
	k.Accepted, k.Applied = nil, nil
	text, err := json.Marshal(k)
	known := map[*fleet.Assignment][]byte{}
	for _, p := range parts {
		if p.of == nil || err != nil {
			continue
		}
		part := d.known[p.of]
		if part == nil {
			part, err = json.Marshal(p.of.Written())
		}
		known[p.of] = part
		text = slices.Concat(text[:len(text)-1], []byte(`,"`+p.name+`":`), part, []byte("}"))
	}
	d.known = known
	return text, err
}

// Append stores a report durably. It replaces a report with the same number.
func (d *Dir) Append(r fleet.Report) error {
	text, err := json.Marshal(r)
	if err == nil {
		err = d.write(d.report(r.Seq), text)
	}
	if err != nil {
		return fmt.Errorf("cannot store report %d: %w", r.Seq, err)
	}
	if before := d.newest; r.Seq > before+1 {
		err = d.Drop(before) // no report below a gap is sent
		d.newest, d.oldest = r.Seq, r.Seq
		return errors.Join(err, smallfile.Remove(d.files, d.report(before)))
	}
	d.newest = max(d.newest, r.Seq)
	if d.oldest == 0 {
		d.oldest = r.Seq
	}
	return nil
}

// Report returns a report in the form in which it is sent.
func (d *Dir) Report(seq uint64) ([]byte, error) {
	text, err := d.read(d.report(seq), fleet.MaxReport)
	if err != nil {
		return nil, fmt.Errorf("cannot read report %d: %w", seq, err)
	}
	return text, nil
}

// Drop removes the reports up to a number, but never the newest one, because its number determines
// the next number.
func (d *Dir) Drop(upTo uint64) error {
	for ; d.oldest > 0 && d.oldest <= upTo && d.oldest < d.newest; d.oldest++ {
		if err := d.files.Remove(d.report(d.oldest)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot delete report %d: %w", d.oldest, err)
		}
	}
	return nil
}

func (d *Dir) read(p string, most int64) ([]byte, error) {
	f, err := d.files.Open(p)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("it has more than %d bytes", most)
	}
	return text, err
}

// write writes a temporary file, makes it durable, and then renames it to p.
func (d *Dir) write(p string, text []byte) error {
	beside := p + ".new"
	if err := d.files.Remove(beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := d.files.Create(beside)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, d.files.Remove(beside))
	}
	return errors.Join(d.files.Rename(beside, p), d.files.SyncDir(path.Dir(p)))
}

// Replace replaces the content of a file atomically and durably.
func Replace(files host.FS, p string, text []byte) error { return (&Dir{files: files}).write(p, text) }
