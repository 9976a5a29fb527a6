package journal

import (
	"fmt"
	"slices"
)

func journalPath(run int) string { return fmt.Sprintf("/journal/%06d.wal", run) }

// current is the content of the pointer file.
type current struct {
	Run int `json:"run"`
}

// pointed is the run that the pointer names. Every state directory has a pointer, so
// its loss is an error, with fs.ErrNotExist in the chain.
func (s *RunLog) pointed() (int, error) {
	var c current
	err := s.loadSealed("/current", &c)
	return c.Run, err
}

// usedRuns lists every run that has a journal or a state, ascending.
func (s *RunLog) usedRuns() ([]int, error) {
	a, err := s.numbers("/journal", ".wal")
	if err != nil {
		return nil, err
	}
	b, err := s.numbers("/state", ".json")
	if err != nil {
		return nil, err
	}
	a = append(a, b...)
	slices.Sort(a)
	return slices.Compact(a), nil
}

func statePath(run int) string { return fmt.Sprintf("/state/%06d.json", run) }
