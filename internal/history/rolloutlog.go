package history

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"fettle.dev/fettle/internal/host/local"
)

// Log is a file of lines for the log of a rollout, which one process can use at a time.
type Log struct {
	file *os.File
	lock io.Closer
	// Lines are the lines that the file had, without their ends.
	Lines [][]byte
}

// OpenLog opens a log, and creates it if necessary. It locks the log until Close; holder describes this process. If
// another process has the lock, the error is a *host.LockedError. A last line that a crash cut off is removed.
func OpenLog(file, holder string) (*Log, error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	dir, err := local.Open(filepath.Dir(file), local.Options{})
	if err != nil {
		return nil, err
	}
	lock, err := dir.Lock("/"+filepath.Base(file)+".lock", holder)
	if err := errors.Join(err, dir.Close()); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	l := &Log{file: f, lock: lock}
	if err := l.read(); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot read %s: %w", file, err), l.Close())
	}
	return l, nil
}

// read reads the lines, and leaves the file at the end of the last whole line.
func (l *Log) read() error {
	lines := bufio.NewReaderSize(l.file, 1<<16)
	var end int64
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		l.Lines = append(l.Lines, bytes.TrimSuffix(line, []byte("\n")))
		end += int64(len(line))
	}
	return l.cut(end)
}

// cut ends the file at an offset, where the next line begins.
func (l *Log) cut(end int64) error {
	if err := l.file.Truncate(end); err != nil {
		return err
	}
	_, err := l.file.Seek(end, io.SeekStart)
	return err
}

// Clear removes all lines.
func (l *Log) Clear() error {
	l.Lines = nil
	return l.cut(0)
}

// Append adds lines durably. text ends with the end of a line.
func (l *Log) Append(text []byte) error {
	if _, err := l.file.Write(text); err != nil {
		return err
	}
	return l.file.Sync()
}

// Close closes the file and ends its lock. It can be repeated.
func (l *Log) Close() error {
	if err := l.file.Close(); !errors.Is(err, fs.ErrClosed) {
		return errors.Join(err, l.lock.Close())
	}
	return nil
}
