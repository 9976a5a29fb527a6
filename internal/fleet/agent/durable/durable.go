// Package durable is what an agent keeps on its disk: what the machine says that it must
// not forget, and the reports that no hub has acknowledged.
//
//	d, err := durable.Open(files, "/agent")
//	kept, err := d.Load()
//	err = d.Save(&kept)              // atomic, and on the disk when it returns
//	err = d.Append(report)           // so is this
//
// In the directory are
//
//	state.json           machine.Kept
//	outbox/N.json        reports, by their numbers with leading zeroes
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

// maxState bounds what is read back: two assignments, an envelope, what was taken of
// requests, and some room.
const maxState = 16 << 20

// Dir is the directory. It is used by one goroutine of one process.
type Dir struct {
	files  host.FS
	dir    string
	newest uint64 // in the outbox
	oldest uint64
	known  map[*fleet.Assignment][]byte // as they are written
}

// Open opens the directory, which it makes if its parent is there.
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

// Look is Open for who only reads, beside an agent that may be running. It makes nothing
// and removes nothing.
func Look(files host.FS, dir string) (*Dir, error) {
	d := &Dir{files: files, dir: dir}
	return d, d.scan(false)
}

func (d *Dir) outbox() string { return path.Join(d.dir, "outbox") }

func (d *Dir) report(seq uint64) string {
	return path.Join(d.outbox(), fmt.Sprintf("%020d.json", seq))
}

// scan finds out which reports there are, and removes what was not written whole if it is
// to clean up. Drop removes from below, and a cut of the power may bring some of those
// back and others not: what lies below a gap was dropped.
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

// Reports are the numbers of the newest report and of the newest one that was dropped,
// both 0 for an outbox that never had any: what machine.New asks for.
func (d *Dir) Reports() (newest, dropped uint64) {
	if d.newest == 0 {
		return 0, 0
	}
	return d.newest, d.oldest - 1
}

// Load reads what was saved; the zero value where nothing was.
func (d *Dir) Load() (machine.Kept, error) {
	var k machine.Kept
	text, err := d.read(path.Join(d.dir, "state.json"), maxState)
	if errors.Is(err, fs.ErrNotExist) {
		return k, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &k)
	}
	if err != nil {
		return k, fmt.Errorf("cannot read what the agent kept: %w", err)
	}
	if k.Format != machine.Format {
		return k, fmt.Errorf("cannot read what the agent kept: it has the format %.40q, and this program knows %s", k.Format, machine.Format)
	}
	return k, nil
}

// Save keeps what the agent knows, in place of what it kept before. What an assignment is
// written as is remembered while it is kept, by the assignment that k points to: nobody
// changes that.
func (d *Dir) Save(k *machine.Kept) error {
	text, err := d.written(*k)
	if err == nil {
		err = d.write(path.Join(d.dir, "state.json"), text)
	}
	if err != nil {
		return fmt.Errorf("cannot keep what the agent knows: %w", err)
	}
	return nil
}

// written is k as JSON, with the assignments at the end: they are the larger part of it, and
// mostly as before.
func (d *Dir) written(k machine.Kept) ([]byte, error) {
	parts := []struct {
		name string
		of   *fleet.Assignment
	}{{"accepted", k.Accepted}, {"good", k.Good}}
	k.Accepted, k.Good = nil, nil
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

// Append writes a report durably, in the place of one with its number.
func (d *Dir) Append(r fleet.Report) error {
	text, err := json.Marshal(r)
	if err == nil {
		err = d.write(d.report(r.Seq), text)
	}
	if err != nil {
		return fmt.Errorf("cannot keep report %d: %w", r.Seq, err)
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

// Report is the text of one, as it is sent.
func (d *Dir) Report(seq uint64) ([]byte, error) {
	text, err := d.read(d.report(seq), fleet.MaxReport)
	if err != nil {
		return nil, fmt.Errorf("cannot read report %d: %w", seq, err)
	}
	return text, nil
}

// Drop removes the reports up to a number, but never the newest: it says which number
// comes next.
func (d *Dir) Drop(upTo uint64) error {
	for ; d.oldest > 0 && d.oldest <= upTo && d.oldest < d.newest; d.oldest++ {
		if err := d.files.Remove(d.report(d.oldest)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot drop report %d: %w", d.oldest, err)
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

// write puts a file beside its place, makes it durable, and only then exchanges it.
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

// Replace writes a file whole and durably, in the place of what was there: the way in
// which all in the directory is written.
func Replace(files host.FS, p string, text []byte) error { return (&Dir{files: files}).write(p, text) }
