package push

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ErrBusy means that another process performs a rollout with the same log.
var ErrBusy = errors.New("another process performs a rollout of this repository")

// Log is the file with the records of a rollout, one JSON document in each line. Only the user can read it.
type Log struct {
	file *os.File
	// Records are the records of the last rollout.
	Records []Record
}

// OpenLog opens the log in a file, and creates it if necessary. It locks the file until Close. A last line that a crash
// cut off is ignored: nothing that it permits has happened.
func OpenLog(file string) (*Log, error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	l := &Log{file: f}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%w: %s", ErrBusy, file)
	}
	if err := l.read(); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("cannot read %s: %w", file, err)
	}
	return l, nil
}

// read reads the records, and leaves the file at the end of the last whole line.
func (l *Log) read() error {
	lines := bufio.NewReaderSize(l.file, 1<<16)
	var end int64
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break // the rest is not a whole line
		}
		r, err := parseRecord(bytes.TrimSpace(line))
		if err != nil {
			return fmt.Errorf("line %d: %w", len(l.Records)+1, err)
		}
		l.Records = append(l.Records, r)
		end += int64(len(line))
	}
	if err := l.file.Truncate(end); err != nil {
		return err
	}
	_, err := l.file.Seek(end, 0)
	return err
}

// Begin discards the records and begins a rollout.
func (l *Log) Begin(o Order) error {
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	if _, err := l.file.Seek(0, 0); err != nil {
		return err
	}
	b := o.begin()
	l.Records = []Record{{Begin: &b}}
	return l.Append(l.Records)
}

// Append adds records durably.
func (l *Log) Append(all []Record) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	for _, r := range all {
		if err := enc.Encode(r); err != nil {
			return err
		}
	}
	if _, err := l.file.Write(text.Bytes()); err != nil {
		return err
	}
	return l.file.Sync()
}

// Close closes the file and ends its lock.
func (l *Log) Close() error {
	err := l.file.Close()
	if errors.Is(err, fs.ErrClosed) {
		return nil
	}
	return err
}
