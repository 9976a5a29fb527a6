package journal

// End ends the run durably: the journal gets the state that the run left, in pieces,
// and the last record, which is Commit or Undone. The run counts from then on. The
// state file and the pointer follow; an error in writing them leaves a run that has
// ended and whose state is read from its journal.
func (j *Journal) End(st State, last Record) error {
	recs, err := pieces(st)
	if err != nil {
		return err
	}
	if err := j.Append(append(recs, last)...); err != nil {
		return err
	}
	if err := j.Sync(); err != nil {
		return err
	}
	return j.s.SaveState(st)
}
