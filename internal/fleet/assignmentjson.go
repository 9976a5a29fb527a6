package fleet

import (
	"encoding/json"
	"fmt"
)

// Written is an assignment as it is written in JSON: to marshal it is the same as to
// marshal the assignment, in half of the time. The modules of a target are mostly of one
// revision: each revision is written once, and parts name it by its number, from 0.
type AssignmentJSON struct {
	plain                   // all fields; those below stand in place of its own
	Revisions []Revision    `json:"revisions"`
	Top       writtenPart   `json:"top"`
	Modules   []writtenPart `json:"modules"`
}

type plain Assignment // without its methods

type writtenPart struct {
	Assigned
	Revision int `json:"revision"`
}

// Written shares what a has; nil stays nil.
func (a *Assignment) Written() *AssignmentJSON {
	if a == nil {
		return nil
	}
	w := &AssignmentJSON{plain: plain(*a)}
	known, last := map[Revision]int{}, -1
	part := func(m Assigned) writtenPart {
		if last >= 0 && w.Revisions[last] == m.Revision { // as is most often so
			return writtenPart{m, last}
		}
		n, ok := known[m.Revision]
		if !ok {
			n = len(w.Revisions)
			known[m.Revision] = n
			w.Revisions = append(w.Revisions, m.Revision)
		}
		last = n
		return writtenPart{m, n}
	}
	w.Top = part(a.Top)
	if a.Modules != nil {
		w.Modules = make([]writtenPart, len(a.Modules))
	}
	for i, m := range a.Modules {
		w.Modules[i] = part(m)
	}
	return w
}

func (w *AssignmentJSON) assignment() (Assignment, error) {
	a := Assignment(w.plain)
	part := func(p writtenPart) (Assigned, error) {
		if p.Revision < 0 || p.Revision >= len(w.Revisions) {
			return Assigned{}, fmt.Errorf("cannot take an assignment of the revision %d: it has %d", p.Revision, len(w.Revisions))
		}
		p.Assigned.Revision = w.Revisions[p.Revision]
		return p.Assigned, nil
	}
	var err error
	if a.Top, err = part(w.Top); err != nil {
		return Assignment{}, err
	}
	a.Modules = nil
	if w.Modules != nil {
		a.Modules = make([]Assigned, len(w.Modules))
	}
	for i, p := range w.Modules {
		if a.Modules[i], err = part(p); err != nil {
			return Assignment{}, err
		}
	}
	return a, nil
}

// MarshalJSON is Marshal.
func (a Assignment) MarshalJSON() ([]byte, error) { return json.Marshal(a.Written()) }

// UnmarshalJSON reads what Marshal wrote, and leaves out what this program does not know.
// What comes from elsewhere is for ParseAssignment.
func (a *Assignment) UnmarshalJSON(b []byte) error {
	var w AssignmentJSON
	err := json.Unmarshal(b, &w)
	if err == nil {
		*a, err = w.assignment()
	}
	return err
}
