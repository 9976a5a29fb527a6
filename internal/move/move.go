// Package move changes paths from one image to another in atomic batches, also across a crash. It
// is the middle of the write protocol; apply writes the journal around it:
//
//	b.Fold()     new trees become one
//	journal: Move records, durable        (temporary names are known)
//	b.Stage()    new content beside its place, whole, with its metadata
//	b.Barrier()  that and the before-images are durable
//	journal: Prepared, durable            (from here either way is possible)
//	b.Show()     renames, in plan order; each path is looked at again first
//	b.Settle()   the renames are durable
//	journal: Done, durable
//	b.Aside()    what was moved aside, and may go now
//
// A new directory is staged with its content in the same batch (Fold), and one rename shows the
// whole tree.
package move

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"sync"

	"fettle.dev/fettle/internal/capture"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
)

// Errors that end a batch.
var (
	// ErrChanged: another process changed the path between capture and rename.
	ErrChanged = errors.New("another process changed it while fettle was changing it")
	// ErrImmutable: the inode has the immutable or append-only attribute.
	ErrImmutable = errors.New(
		"it is immutable or append-only: first clear this with a META step with attrs=-, or with chattr -ia")
	// ErrHardLinks: other names share the inode.
	ErrHardLinks = errors.New("other names are hard links to the same file, and a replacement would separate them: first remove the other names or this path")
)

// Move is one path on its way from one image to another.
type Move struct {
	Change int // index of the change, for the journal
	Path   string
	From   capture.Taken
	To     image.File
	// Temp is the temporary name for the new file and for the old file that a swap sets aside.
	// TempFor names it. Fold clears it if the new file is staged inside its directory.
	Temp string
	// Inode groups moves that restore names of one file: the moves of a batch with the same value and
	// the same image become names of one new file. Name is an existing name of that file, if any.
	Inode, Name string
	// Validate, when set, must accept the staged file before it is shown.
	Validate func(temp string) error

	twin  *Move // an earlier move of the batch that makes the file of which the path is a name
	shown bool
	in    *Move // the new directory in which it is staged, if any
	// Kept are the entries that prevented the removal of a directory and remain.
	Kept []string
}

// TempFor names the temporary of a change: hidden, and with an ending that no
// drop-in directory (cron.d, sudoers.d, *.conf, run-parts) takes for its own.
func TempFor(p string, run, change int, back bool) string {
	name := ".fettle-" + strconv.Itoa(run) + "-" + strconv.Itoa(change)
	if back {
		name += "-back"
	}
	return path.Join(path.Dir(p), name+"~")
}

// IsTemp reports whether a name is a temporary name of fettle.
func IsTemp(name string) bool {
	return len(name) > 9 && name[:8] == ".fettle-" && name[len(name)-1] == '~'
}

// InPlace reports whether the move changes the existing inode: only metadata differs, or the path
// is a mount point, which cannot be replaced by a rename.
func (m *Move) InPlace() bool { return m.metadataOnly() || m.mounted() }

func (m *Move) metadataOnly() bool {
	f, t := m.From.File, m.To
	return f.Type == t.Type && f.Type != image.Absent && f.Digest == t.Digest && f.Sealed == t.Sealed &&
		f.Target == t.Target && f.Rdev == t.Rdev && f.Tree == t.Tree
}

func (m *Move) mounted() bool {
	return m.From.Mounted && m.From.Type == image.Regular && m.To.Type == image.Regular
}

// Check returns the reason if the move is impossible, before any change.
func (m *Move) Check() error {
	f, t := m.From.File, m.To
	switch {
	case f.Type == image.Absent:
		return nil
	case m.metadataOnly():
		return nil
	case f.Attrs&fixed != 0:
		return fmt.Errorf("cannot change %q: %w", m.Path, ErrImmutable)
	case f.Type == image.Regular && f.Nlink > 1 && t.Type != image.Absent:
		return fmt.Errorf("cannot replace %q, which has %d hard links: %w", m.Path, f.Nlink, ErrHardLinks)
	case m.From.Mounted && !m.mounted():
		return fmt.Errorf("cannot change %q: something is mounted there; unmount it first", m.Path)
	}
	return nil
}

// Batch is moves of distinct paths that become visible together. A Batch is
// used by one goroutine.
type Batch struct {
	attrs sync.Map // the inode attributes of directories, by path
	FS    host.FS
	Store capture.Objects
	Moves []*Move

	mu      sync.Mutex
	handing map[string]bool // directories, and whether they hand something down; by mu
}

// few is below how many files each is synced by itself; from there on the
// whole file system is.
const few = 16

// small reports whether syncing each new file covers all staged data.
func (b *Batch) small() bool {
	return len(b.Moves) < few && !slices.ContainsFunc(b.Moves, func(m *Move) bool {
		return m.To.Type != image.Absent && m.To.Type != image.Regular && !m.InPlace()
	})
}

// Error names the failed move of a batch.
type Error struct {
	Change int
	Path   string
	What   string
	Err    error
}

func (e *Error) Error() string { return fmt.Sprintf("cannot %s %q: %v", e.What, e.Path, e.Err) }
func (e *Error) Unwrap() error { return e.Err }
