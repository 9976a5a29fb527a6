package repo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"fettle.dev/fettle/internal/size"
)

// Limits limit the data that is read of an untrusted repository. The zero value of a field is its
// default.
type Limits struct {
	Files    int   // files and links in one tree; default 50,000
	FileSize int64 // bytes of one file; default 32 MiB
	// Total is the bytes of all files of a tree; default 4 GiB.
	Total int64
	// Silence is the time limit of git without output. A named pipe instead of one of its files
	// would otherwise block it permanently. Default 30 s.
	Silence time.Duration
}

// The defaults of Limits.
const (
	DefaultFiles    = 50_000
	DefaultFileSize = 32 << 20 // bytes
	defaultTotal    = 4 << 30
	defaultSilence  = 30 * time.Second
)

func (l Limits) filled() Limits {
	if l.Files <= 0 {
		l.Files = DefaultFiles
	}
	if l.FileSize <= 0 {
		l.FileSize = DefaultFileSize
	}
	if l.Total <= 0 {
		l.Total = max(defaultTotal, l.FileSize)
	}
	if l.Silence <= 0 {
		l.Silence = defaultSilence
	}
	return l
}

// tally counts what a tree has so far.
type tally struct {
	limits Limits
	files  int
	bytes  int64
}

// add counts one more file or link, or returns the exceeded limit.
func (t *tally) add(path string, bytes int64) error {
	refuse := func(why string, args ...any) error {
		return &pathError{"use repository entry", path, fmt.Sprintf(why, args...), nil}
	}
	t.files++
	t.bytes += max(bytes, 0)
	switch {
	case t.files > t.limits.Files:
		return tooMany(t.limits)
	case bytes > t.limits.FileSize:
		return refuse("it has %d bytes; the limit is %s. Remove it, or allow more: --max-file-size %dMiB", bytes,
			size.Text(t.limits.FileSize), bytes>>20+1)
	case t.bytes > t.limits.Total:
		return refuse("with it, all files together have more than the limit of %s. Remove large files",
			size.Text(t.limits.Total))
	}
	return nil
}

func tooMany(l Limits) error {
	return fmt.Errorf("cannot use repository: it has more than %d files. Remove some, or allow more: --max-files %d",
		l.Files, 2*l.Files)
}

// errSilent is why git was ended.
var errSilent = errors.New("cannot read the repository: git printed nothing for too long. Possible causes: a named pipe among its files (find . -type p), a damaged object (git fsck), or a disk that hangs")

// watched is the output of git. Only the time waiting for git counts.
type watched struct {
	r     io.Reader
	limit time.Duration
	end   context.CancelCauseFunc
}

func (w watched) Read(p []byte) (int, error) {
	if w.limit <= 0 {
		w.limit = defaultSilence
	}
	t := time.AfterFunc(w.limit, func() { w.end(errSilent) })
	defer t.Stop()
	return w.r.Read(p)
}
