package view

import "slices"

// sum is what lists of targets show of the modules of one.
type sum struct {
	modules, behind int
	states          int // a bit for each of marks
	failure, waits  string
}

// sumStored counts the modules of one target anew, by what is known of them.
func (t *tx) sumStored(target int64) error {
	had, err := t.rows(target)
	if err != nil {
		return err
	}
	return t.sum(target, had)
}

// sum counts the modules of one target anew. rows are what it says of them.
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
	return t.exec("INSERT OR REPLACE INTO sums VALUES (?, ?, ?, ?, ?, ?)", target, s.modules, s.behind, s.states, s.failure, s.waits)
}

// one is a revision of a module, in numbers of words.
type one struct{ commit, bundle int64 }

// behind tells whether something else is applied. The same content at another commit is
// the same.
func (want one) behind(have one) bool {
	return want.commit != have.commit && (have.bundle == 0 || want.bundle != have.bundle)
}

// add counts a module. mark is the place of its state among marks, below 0 for none.
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
