package journal

import "fmt"

// FrozenFile exists in the state directory as long as the host is frozen.
const FrozenFile = "frozen"

// Freeze durably blocks applying until Unfreeze. If f.At is 0, it is set to the present time. A second
// freeze replaces the first.
func (s *Store) Freeze(f Frozen) error {
	if f.At == 0 {
		f.At = s.opts.Now().UnixNano()
	}
	return s.saveSealed("/"+FrozenFile, f)
}

// Unfreeze removes the freeze, if there is one.
func (s *Store) Unfreeze() error { return s.discard("/" + FrozenFile) }

// Frozen returns the freeze in force, or nil. A freeze ends when the wall clock reaches its end. A damaged
// freeze is an error, so that a run is never applied by accident.
func (s *Store) Frozen() (*Frozen, error) {
	var f Frozen
	ok, err := s.loadSetting("/"+FrozenFile, &f)
	if err != nil {
		return nil, fmt.Errorf("cannot determine whether this host is frozen; freeze or unfreeze it again: %w", err)
	}
	if !ok || f.Until > 0 && s.opts.Now().UnixNano() >= f.Until {
		return nil, nil
	}
	return &f, nil
}

// Arm records durably that a run undoes itself at the deadline.
func (s *Store) Arm(a Arming) error { return s.saveSealed("/armed", a) }

// Disarm removes the record that Arm wrote, if there is one.
func (s *Store) Disarm() error { return s.discard("/armed") }

// ArmedRun is the run that waits for its confirmation, or nil. The run's
// journal has the same in its Armed record, should this be damaged.
func (s *Store) ArmedRun() (*Arming, error) {
	var a Arming
	ok, err := s.loadSetting("/armed", &a)
	if err != nil || !ok {
		return nil, err
	}
	return &a, nil
}
