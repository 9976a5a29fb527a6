package fleet

import (
	"encoding/json"
	"fmt"
)

// AssignmentJSON is the JSON form of an assignment. To marshal it is the same as to marshal the
// assignment, in half of the time. Most modules of a target have the same revision: each revision
// is written once, and parts refer to it by its number, from 0.
type AssignmentJSON struct {
	plain                   // all fields; the fields below replace fields of the same name
	Revisions []Revision    `json:"revisions"`
	Root      writtenPart   `json:"top"`
	Modules   []writtenPart `json:"modules"`
}

type plain Assignment // without its methods

type writtenPart struct {
	Assigned
	Revision int `json:"revision"`
}

// Written returns the JSON form, which shares data with a; nil stays nil.
func (a *Assignment) Written() *AssignmentJSON {
	if a == nil {
		return nil
	}
	w := &AssignmentJSON{plain: plain(*a)}
	known, last := map[Revision]int{}, -1
	part := func(m Assigned) writtenPart {
		if last >= 0 && w.Revisions[last] == m.Revision { // the usual case
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
	w.Root = part(a.Root)
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
			return Assigned{}, fmt.Errorf("cannot accept an assignment of the revision number %d: it has %d revisions",
				p.Revision, len(w.Revisions))
		}
		p.Assigned.Revision = w.Revisions[p.Revision]
		return p.Assigned, nil
	}
	var err error
	if a.Root, err = part(w.Root); err != nil {
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

// MarshalJSON returns the bytes of Marshal.
func (a Assignment) MarshalJSON() ([]byte, error) { return json.Marshal(a.Written()) }

// UnmarshalJSON decodes the result of Marshal, and ignores unknown fields. Data from another host
// must be parsed by ParseAssignment.
func (a *Assignment) UnmarshalJSON(b []byte) error {
	var w AssignmentJSON
	err := json.Unmarshal(b, &w)
	if err == nil {
		*a, err = w.assignment()
	}
	return err
}
