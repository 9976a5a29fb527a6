package assignments

import (
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// ProvesLoss reports whether no hub can have issued an assignment with the data of this store. had is the record of the
// target. The store then lost all data, or was replaced by an older copy. The result is correct for an outdated had.
//
//   - The epoch of the assignment did not begin in this store.
//   - The assignment is newer than the last one of an earlier epoch, and its epoch has ended for the target.
func ProvesLoss(have fleet.Have, had records.Assignment, epoch records.Epoch) bool {
	switch {
	case have.Epoch == 0:
		return false
	case !epoch.MayHaveBegun(have.Epoch):
		return true
	case had.Before.Epoch == 0 || have.Epoch >= had.Assignment.Epoch:
		return false
	}
	return have.Epoch > had.Before.Epoch || have.Epoch == had.Before.Epoch && have.Generation > had.Before.Generation
}

func (s *Store) provesLoss(have fleet.Have, had records.Assignment) bool {
	if s.Records.Epochs == nil {
		return false
	}
	epoch, _, _ := s.Records.Epochs.Get(records.EpochKey)
	return ProvesLoss(have, had, epoch)
}

// lost notes that the store lost an assignment.
func (s *Store) lost(a fleet.Assignment) {
	if s.Lost != nil {
		s.Lost(a.Target, time.Unix(a.Issued, 0))
	}
}
