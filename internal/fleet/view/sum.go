package view

import "slices"

// sum is the summary of the modules of one target for lists.
type sum struct {
	modules, behind int
	states          int // a bit for each element of marks
	failure, waits  string
}

// sumStored computes the summary of one target from its stored rows.
func (t *tx) sumStored(target int64) error {
	t.changed = append(t.changed, target)
	had, err := t.rows(target)
	if err != nil {
		return err
	}
	return t.sum(target, had)
}

// sum computes the summary of one target. rows contains the reported states of its modules.
func (t *tx) sum(target int64, rows map[int64]row) error {
	list, err := t.listOf(target)
	if err != nil {
		return err
	}
	var all []listing
	if list != 0 {
		if all, err = t.listings(list); err != nil {
			return err
		}
	}
	var states []int64
	for _, m := range marks() {
		n, err := t.word(string(m.module))
		if err != nil {
			return err
		}
		states = append(states, n)
	}
	var s sum
	for _, l := range all {
		m := rows[l.module]
		s.add(l.want.behind(m.one()), slices.Index(states, m.state), m.waits, m.failure)
	}
	return t.exec("INSERT OR REPLACE INTO sums VALUES (?, ?, ?, ?, ?, ?)", target, s.modules, s.behind, s.states,
		s.failure, s.waits)
}

// one is a version of a module, in numbers of words.
type one struct{ commit, bundle int64 }

// behind reports whether the applied content differs. The same content at another commit is equal.
func (want one) behind(have one) bool {
	return want.commit != have.commit && (have.bundle == 0 || want.bundle != have.bundle)
}

// add adds a module to a summary. mark is the index of its state in marks, or negative.
func (s *sum) add(behind bool, mark int, waits, failure string) {
	s.modules++
	if behind {
		s.behind++
	}
	if s.waits == "" {
		s.waits = waits
	}
	if s.failure == "" {
		s.failure = failure
	}
	if mark >= 0 {
		s.states |= 1 << mark
	}
}
