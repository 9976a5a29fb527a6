// Package history records the operations that a workstation started on targets, in files of its user:
//
//	d := history.Dir("/home/kim/.local/state/fettle")
//	err := d.Add(history.Entry{At: now, User: "kim", Command: "fettle apply -t web1", Targets: results})
//	entries, err := d.Entries()
//
// It also records the results of the last command on many targets of each repository, for the selection
// @failed. The files are:
//
//	history.jsonl      the entries, one in each line, the oldest first
//	history.jsonl.old  the entries before these
//	last-9f86d081.json the last command of one repository
//	rollout-9f86d081.jsonl the log of its last rollout, see package push
//
// Only the user can read them. Several processes can use a directory at the same time.
package history

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Dir is the directory with the files. In "", nothing is recorded.
type Dir string

// Entry is one operation on targets.
type Entry struct {
	At      int64             `json:"at"` // ns since 1970
	User    string            `json:"user"`
	Command string            `json:"command"`
	Targets map[string]string `json:"targets"` // the result of each target; "" is this host
}

// maxSize is the size of the file above which a new file begins, in bytes. One older file remains.
const maxSize = 4 << 20

func (d Dir) file() string { return filepath.Join(string(d), "history.jsonl") }

// Add adds an entry, and creates the directory if necessary.
func (d Dir) Add(e Entry) error {
	if d == "" {
		return nil
	}
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return appendLine(d.file(), line)
}

// appendLine adds one line in one write, so that lines of two processes are not mixed.
func appendLine(file string, line []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	if st, err := os.Stat(file); err == nil && st.Size() > maxSize {
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

// Entries returns the entries, the oldest first. It omits lines that a crash cut off. Without files, there
// are none.
func (d Dir) Entries() ([]Entry, error) {
	if d == "" {
		return nil, nil
	}
	older, err := entriesOf(d.file() + ".old")
	if err != nil {
		return nil, err
	}
	newer, err := entriesOf(d.file())
	return append(older, newer...), err
}

func entriesOf(file string) (out []Entry, err error) {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the history of this workstation: %w", err)
	}
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 16<<20)
	for sc.Scan() {
		var e Entry
		if json.Unmarshal(sc.Bytes(), &e) == nil {
			out = append(out, e)
		}
	}
	if err := errors.Join(sc.Err(), f.Close()); err != nil {
		return nil, fmt.Errorf("cannot read the history of this workstation: %w", err)
	}
	return out, nil
}

// Newest returns at most limit entries of a list in reverse order, and all entries if limit is 0 or less.
func Newest(entries []Entry, limit int) []Entry {
	out := make([]Entry, 0, len(entries))
	for i := len(entries) - 1; i >= 0 && (limit <= 0 || len(out) < limit); i-- {
		out = append(out, entries[i])
	}
	return out
}
