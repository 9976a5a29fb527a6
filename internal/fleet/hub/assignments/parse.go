package assignments

import (
	"bytes"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// Text returns the signed text of a stored assignment, and its shared modules if it has
// some.
func (s *Store) Text(r records.StoredAssignment) ([]byte, *records.Common, error) {
	if r.Common == "" {
		return r.Payload, nil, nil
	}
	c, err := s.shared.get(s.Context(), r.Common, &s.lists)
	if err != nil {
		return nil, nil, err
	}
	text, err := c.Text(r.Payload)
	return text, c, err
}

// Parse decodes a stored assignment. It returns an error if no hub of the fleet
// signed it.
func (s *Store) Parse(b []byte) (records.Assignment, error) {
	r, err := s.packer.Unpack(b)
	if err != nil {
		return records.Assignment{}, err
	}
	text, common, err := s.Text(r)
	if err != nil {
		return records.Assignment{}, err
	}
	keys, err := s.Keys()
	if err != nil {
		return records.Assignment{}, err
	}
	if err := fleet.VerifyPayload(text, fleet.AssignmentType, r.Signatures, keys); err != nil {
		return records.Assignment{}, err
	}
	for i := range r.Signatures {
		r.Signatures[i].KeyID = fleet.Intern(r.Signatures[i].KeyID)
	}
	g := records.Assignment{Fence: r.Fence, Signatures: r.Signatures, Common: common, Foreign: s.contents.one(r.Foreign)}
	if r.Before != nil {
		g.Before = *r.Before
	}
	if common != nil {
		g.Assignment, err = common.Parse(r.Payload)
	} else {
		g.Assignment, err = fleet.ParseAssignment(text)
	}
	if err != nil {
		return records.Assignment{}, err
	}
	if !bytes.Equal(g.Signed(), text) {
		g.Payload = text // a hub of another version wrote it
	}
	s.share(&g)
	return g, nil
}

// share replaces strings and lists of a decoded assignment by equal ones in memory.
func (s *Store) share(g *records.Assignment) {
	a := &g.Assignment
	if g.Common == nil {
		a.Root, a.Modules = s.lists.one([]fleet.Assigned{a.Root})[0], s.lists.one(a.Modules)
	}
	a.Labels, a.Fleet, a.Format = s.Records.Labels.Labels(a.Labels), fleet.Intern(a.Fleet), fleet.Intern(a.Format)
}

// Open returns the assignment of an entry of the store. The mirror usually has it
// already.
func (s *Store) Open(e fleet.Entry) (fleet.Assignment, error) {
	if g, rev, ok := s.Records.Assignments.Get(e.Key); ok && rev == e.Rev {
		return g.Assignment, nil
	}
	g, err := s.Records.Assignments.Read(e)
	return g.Assignment, err
}
