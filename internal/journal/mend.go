package journal

import (
	"errors"
	"io/fs"
)

// RepairState writes the state file in force and the pointer again if they are lost, damaged or outdated,
// and reports the damage. The caller must hold the lock.
func (s *States) RepairState() ([]string, error) {
	st, err := s.State()
	if err != nil {
		return nil, err
	}
	notes := s.Notes()
	pointed, perr := s.pointed()
	if perr == nil && pointed == st.Run && len(notes) == 0 {
		return nil, nil
	}
	if err := s.harden(st.Run); err != nil {
		return notes, err
	}
	if _, err := s.readState(st.Run); st.Run > 0 && (errors.Is(err, errDamaged) || errors.Is(err, fs.ErrNotExist)) {
		return notes, s.SaveState(st)
	}
	return notes, s.saveSealed("/current", current{Run: st.Run})
}

// repairStateLate calls RepairState if the pointer does not name the run in force. This is the case if a run
// ended but could not write the pointer.
func (s *States) repairStateLate() error {
	pointed, perr := s.pointed()
	run, err := s.inForce(func(string, ...any) {})
	if err == nil && (perr != nil || pointed != run) {
		_, err = s.RepairState()
	}
	return err
}

// harden makes a journal durable before other data shows that its run has ended, because its
// readable content may not be on the disk. A lost or damaged journal is not changed.
func (s *States) harden(run int) error {
	b, sc, err := s.scanRun(run)
	if err != nil || !sc.last.Kind.Ends() {
		return nil
	}
	return s.replace(journalPath(run), b[:sc.good])
}
