package journal

import (
	"sync"
	"time"

	"fettle.dev/fettle/internal/host"
)

// disk reads and writes the files of a state directory. Each file that it replaces is durable.
type disk struct {
	fs   host.FS
	opts Options
}

// Objects is the content that runs need, stored by digest. It is part of a Store.
type Objects struct {
	*disk

	mu sync.Mutex
	// known are objects whose content this process has written or checked:
	// after a crash, a name alone proves nothing.
	known map[string]bool
	// pending are known objects that may not be durable; true for objects that this process wrote
	// and can therefore remove.
	pending map[string]bool
	// fresh are the objects put since Open, which Collect leaves alone: the
	// journal that will name them may not be written yet.
	fresh map[string]bool
	// rooted are the object directories whose own entry is durable.
	rooted map[string]bool
	packs  packs
	// directories are the entries of /objects, when they have been read.
	directories map[string]bool
	temps       int
}

// RunLog is the journals of all runs. It is part of a Store.
type RunLog struct{ *disk }

// CommandLog is the record of commands outside of runs. It is part of a Store.
type CommandLog struct{ *disk }

// States is the applied state and the earlier states. A lost or damaged state is built again from the
// journals. It is part of a Store.
type States struct {
	*disk
	*RunLog

	mu sync.Mutex
	// decoded is the state that was read last.
	decoded *decodedState
	notes   []string
}

// newStore connects the parts of a store.
func newStore(d *disk) *Store {
	runs := &RunLog{d}
	objects := &Objects{disk: d, known: map[string]bool{}, pending: map[string]bool{}, fresh: map[string]bool{},
		rooted: map[string]bool{}}
	return &Store{disk: d, Objects: objects, RunLog: runs, CommandLog: &CommandLog{d},
		States: &States{disk: d, RunLog: runs}}
}

// Store is all data below one state directory. Reading needs no lock; writers must hold Lock. A
// Store is safe for concurrent use.
type Store struct {
	*disk
	*Objects
	*RunLog
	*CommandLog
	*States
}

// Options are the settings of a Store.
type Options struct {
	// Now is the clock for records and settings; time.Now when nil.
	Now func() time.Time
	// Ballast is the size of the ballast file in bytes; 0 is none.
	Ballast int64
}

// packs are the packs of a store. The store's mutex guards it.
type packs struct {
	on     bool // small objects are put into packs
	loaded bool
	at     map[string]place
	files  map[int]host.File // open for reading
	cur    *packWriter
	last   int // the highest number there is
	// broken is why stored objects were lost: the next SyncObjects returns it.
	broken error
}

// place is the position of a packed object's content.
type place struct {
	pack   int
	offset int64
	length int
}

type packWriter struct {
	number   int
	f        host.File
	written  int64 // bytes handed to the file
	buf      []byte
	digests  []string // all digests in the pack
	unsynced []string // the digests since the last sync
	// moved are the unsynced objects that were copied from another pack, with their places there.
	// These places are valid until the copies are durable.
	moved map[string]place
	named bool // its own directory entry is durable
}

// decodedState is the last state that was read, with the status of its file then. State files are
// replaced, never modified, so the same inode with the same times has the same state.
type decodedState struct {
	state State
	file  host.Stat
}

const format = 1
