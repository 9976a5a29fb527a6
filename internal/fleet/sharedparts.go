package fleet

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
)

// SharedParts are the parts that the assignments of many targets have in common: root bundle and
// modules, with their encoded form. Most assignments have the same fifty modules as other
// assignments, which therefore need not be encoded or decoded again. It is immutable.
type SharedParts struct {
	Root    Assigned
	Modules []Assigned
	end     []byte // the end of Marshal of each assignment with these parts
}

// The encoded form of an empty assignment: Marshal ends with the shared parts.
const (
	emptyBegin = `{"format":"","target":"","name":"","epoch":0,"generation":0,"issued":0`
	emptyEnd   = `,"revisions":[{"repository":"","commit":"","time":0}],"top":{"bundle":{"digest":"","size":0},"revision":0},"modules":null}`
)

// NewSharedParts returns an error if the parts cannot be parts of an assignment. It keeps top and
// modules, which must not change afterwards.
func NewSharedParts(top Assigned, modules []Assigned) (SharedParts, error) {
	c := SharedParts{Root: top, Modules: modules, end: Assignment{Root: top, Modules: modules}.Marshal()[len(emptyBegin):]}
	return c, checkParts(slices.Concat([]Assigned{top}, modules))
}

// WithoutSharedParts returns an assignment without the shared parts. AddTo is the inverse.
func (a Assignment) WithoutSharedParts() Assignment {
	a.Root, a.Modules = Assigned{}, nil
	return a
}

// AddTo returns an assignment with these shared parts instead of its own parts.
func (c *SharedParts) AddTo(own Assignment) Assignment {
	own.Root, own.Modules = c.Root, c.Modules
	return own
}

// Marshal returns the bytes of c.AddTo(a).Marshal().
func (c *SharedParts) Marshal(a Assignment) []byte {
	text, _ := c.complete(a.WithoutSharedParts().Marshal())
	return text
}

// complete returns the text of a whole assignment from the text of its own part.
func (c *SharedParts) complete(own []byte) (text []byte, ok bool) {
	begin, ok := bytes.CutSuffix(own, []byte(emptyEnd))
	return slices.Concat(begin, c.end), ok
}

// Text returns the signed text of an assignment from a.WithoutSharedParts().Marshal(). Any other form of own is an
// error.
func (c *SharedParts) Text(own []byte) ([]byte, error) {
	text, ok := c.complete(own)
	if !ok {
		return nil, errors.New("cannot read an assignment: its text does not end in the form for shared parts")
	}
	return text, nil
}

// Parse returns the result of ParseAssignment for Text.
func (c *SharedParts) Parse(own []byte) (Assignment, error) {
	var w AssignmentJSON
	if err := decode(own, &w); err != nil {
		return Assignment{}, fmt.Errorf("cannot read an assignment: %w", err)
	}
	a := c.AddTo(Assignment(w.plain))
	return a, a.checkOwn()
}
