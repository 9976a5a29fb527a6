package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// maxPiece is how long a piece of a state in a journal may get, in bytes.
const maxPiece = maxPayload / 2

// pieces returns the records of a state. The first record has all fields and the first entries. The
// other records have only entries, without a format.
func pieces(st State) ([]Record, error) {
	b, err := marshalState(&st)
	if err != nil {
		return nil, err
	}
	n := len(st.Entries)
	if len(b) <= maxPiece || n < 2 {
		return []Record{{Kind: Stated, State: &st}}, nil
	}
	first, rest := st, State{Run: st.Run, Entries: st.Entries[n/2:]}
	first.Entries = st.Entries[:n/2]
	out, err := pieces(first)
	if err != nil {
		return nil, err
	}
	more, err := pieces(rest)
	return append(out, more...), err
}

// joinPieces puts a state together from the last pieces among some records: a run that
// was recovered may have older ones.
func joinPieces(recs []Record) (st State, ok bool, err error) {
	for _, r := range recs {
		if r.Kind != Stated {
			continue
		}
		var p struct {
			State State `json:"state"`
		}
		if err := Unmarshal(r.piece, &p); err != nil {
			return State{}, false, pieceFault(r.piece, err)
		}
		if p.State.Format != 0 {
			st, ok = p.State, true
			continue
		}
		st.Entries = append(st.Entries, p.State.Entries...)
	}
	return st, ok, nil
}

// StateAt is the state that a run left; the one of run 0 is empty. A file that is lost or
// damaged is made again from the journal. It is fs.ErrNotExist for a run that left no
// state or was collected, and a *LostError for a state that cannot be made again.
func (s *States) StateAt(run int) (State, error) {
	if run == 0 {
		return State{Format: format}, nil
	}
	return s.stateOr(run, func(string, ...any) {})
}

// stateOr reads the state of a run from its file, or if that fails from its journal.
func (s *States) stateOr(run int, note func(string, ...any)) (State, error) {
	st, err := s.readState(run)
	lost := errors.Is(err, fs.ErrNotExist)
	if err == nil || !errors.Is(err, errDamaged) && !lost {
		return st, err // an unreadable file can be valid
	}
	st, rerr := s.rebuild(run)
	if rerr == nil {
		note("The state file of run %d is lost or damaged; its state was read from the journal.", run)
		return st, nil
	}
	if refuses(rerr) {
		return State{}, fmt.Errorf("cannot read the journal of run %d: %w", run, rerr)
	}
	if errors.Is(rerr, errNotEnded) && lost {
		return State{}, err
	}
	why := fmt.Sprint(rerr)
	if errors.Is(rerr, fs.ErrNotExist) {
		why = "its journal is lost too"
	}
	return State{}, &LostError{fmt.Sprintf("the state file of run %d, %q, is %s, and it cannot be created again: %s",
		run, strings.TrimPrefix(statePath(run), "/"), lostOrDamaged(lost), why), errors.Join(err, rerr)}
}

func lostOrDamaged(lost bool) string {
	if lost {
		return "lost"
	}
	return "damaged"
}

var errNotEnded = errors.New("the run has not ended")

// rebuild makes the state of a run from its journal.
func (s *States) rebuild(run int) (State, error) {
	_, sc, err := s.scanRun(run)
	if err != nil {
		return State{}, err
	}
	if len(sc.records) == 0 || !sc.last.Kind.Ends() {
		return State{}, errNotEnded
	}
	st, ok, err := joinPieces(sc.records)
	switch {
	case err != nil:
		return State{}, err
	case !ok:
		return State{}, errors.New("an older fettle wrote its journal, which does not have the state")
	case st.Run != run:
		return State{}, fmt.Errorf("its journal has the state of run %d", st.Run)
	}
	return st, nil
}
