package journal

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/host"
)

// proof is the evidence, except its own journal, that a run has ended. At its end a run writes its
// journal, then its state file, then the pointer; the next run begins after that.
type proof struct {
	at   bool // the pointer names the run, or it has a state file
	next bool // the next run that began started from its state
	past bool // a later run began or has a state
}

// ended reports whether the run must have an end in its journal. Older versions wrote the state
// file and the pointer before the end.
func (p proof) ended(records []Record) bool {
	switch {
	case len(records) == 0:
		return p.at || p.next
	case records[0].Header.Stated:
		return p.at || p.past
	}
	return p.past
}

// proofOf is read before the journal itself, so that a run that ends in between
// does not look damaged.
func (s *RunLog) proofOf(run int) (p proof, err error) {
	pointed, err := s.pointed()
	if err != nil && !errors.Is(err, errDamaged) && !errors.Is(err, fs.ErrNotExist) {
		return p, err
	}
	states, err := s.numbers("/state", ".json")
	if err != nil {
		return p, err
	}
	journals, err := s.numbers("/journal", ".wal")
	if err != nil {
		return p, err
	}
	p.at = pointed == run || slices.Contains(states, run)
	p.past = pointed > run || len(states) > 0 && states[len(states)-1] > run
	for _, later := range journals {
		if later <= run {
			continue
		}
		if h, ok := s.beginOf(later); ok {
			p.next, p.past = h.Base == run, true
			break
		}
	}
	return p, nil
}

// beginOf reads the beginning of a run; false if its journal does not contain it.
func (s *RunLog) beginOf(run int) (Header, bool) {
	f, err := s.fs.Open(journalPath(run))
	if err != nil {
		return Header{}, false
	}
	defer f.Close()
	r, ok := begins(run, f)
	if !ok {
		return Header{}, false
	}
	return *r.Header, true
}

// begins reads the first record, as far as edge does.
func begins(run int, f host.File) (first Record, ok bool) {
	st, err := f.Stat()
	if err != nil {
		return first, false
	}
	head, ok := readAt(f, 0, min(st.Size, window))
	if !ok || !strings.HasPrefix(string(head), magic) {
		return first, false
	}
	fr, ok := cutFrame(head[len(magic):])
	if !ok {
		return first, false
	}
	first, err = fr.edge()
	return first, err == nil && checkBegin(run, first) == nil
}
