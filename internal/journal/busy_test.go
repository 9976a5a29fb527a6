package journal_test

import (
	"errors"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/journal"
)

// busy is a file system of which one file can be opened a few times only.
type busy struct {
	*mem.FS
	path string
	left int
}

var errBusy = errors.New("too many open files")

func (b *busy) Open(path string) (host.File, error) {
	if path == b.path {
		if b.left == 0 {
			return nil, errBusy
		}
		b.left--
	}
	return b.FS.Open(path)
}

// TestStateOfBusyJournal: a journal that cannot be read at this moment does not
// put the state of an older run in force.
func TestStateOfBusyJournal(t *testing.T) {
	fsys := &busy{FS: mem.NewFS(mem.Options{}), path: "/journal/000002.wal", left: -1}
	s := open(t, fsys)
	finish(t, s, 1, 0, 1)
	finish(t, s, 2, 1, 1)
	check(t, s.SaveState(journal.State{Format: 1, Run: 2}))
	check(t, fsys.Remove("/current"))
	for left := range 8 {
		fsys.left = left
		st, err := open(t, fsys).State()
		if err == nil && st.Run != 2 || err != nil && !errors.Is(err, errBusy) {
			t.Errorf("opened %d times: run %d, %v", left, st.Run, err)
		}
		if err != nil && !strings.Contains(err.Error(), "run 2") {
			t.Errorf("the error does not say which: %v", err)
		}
	}
}
