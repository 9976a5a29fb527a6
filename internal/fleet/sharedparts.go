package fleet

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
)

// SharedParts is what the assignments of many targets have in common: their top and their modules,
// with how these are written. To write an assignment, or to read one, is most often to do so
// for fifty modules that were written and read for its neighbour a moment ago. It is immutable.
type SharedParts struct {
	Top     Assigned
	Modules []Assigned
	end     []byte // of Marshal of each assignment that has them
}

// How an assignment without anything is written: Marshal ends with all that a Common is.
const (
	emptyBegin = `{"format":"","target":"","name":"","epoch":0,"generation":0,"issued":0`
	emptyEnd   = `,"revisions":[{"repository":"","commit":"","time":0}],"top":{"bundle":{"digest":"","size":0},"revision":0},"modules":null}`
)

// NewSharedParts gives an error where a top and modules cannot be those of an assignment. They are
// the Common's from then on.
func NewSharedParts(top Assigned, modules []Assigned) (SharedParts, error) {
	c := SharedParts{Top: top, Modules: modules, end: Assignment{Top: top, Modules: modules}.Marshal()[len(emptyBegin):]}
	return c, checkParts(slices.Concat([]Assigned{top}, modules))
}

// Own is an assignment without what it has in common with others, and Whole the other way
// round.
func (a Assignment) Own() Assignment {
	a.Top, a.Modules = Assigned{}, nil
	return a
}

// Whole is an assignment with what it has in common with others, in place of what it has.
func (c *SharedParts) Whole(own Assignment) Assignment {
	own.Top, own.Modules = c.Top, c.Modules
	return own
}

// Marshal is that of c.Whole(a).
func (c *SharedParts) Marshal(a Assignment) []byte {
	text, _ := c.complete(a.Own().Marshal())
	return text
}

// complete makes the text of an assignment of that of its own.
func (c *SharedParts) complete(own []byte) (text []byte, ok bool) {
	begin, ok := bytes.CutSuffix(own, []byte(emptyEnd))
	return slices.Concat(begin, c.end), ok
}

// Text is what was signed of an assignment of which own is a.Own().Marshal(): what anybody else
// wrote is an error.
func (c *SharedParts) Text(own []byte) ([]byte, error) {
	text, ok := c.complete(own)
	if !ok {
		return nil, errors.New("cannot read an assignment: it has something in common with others, and is not written like that")
	}
	return text, nil
}

// Parse is ParseAssignment of Text.
func (c *SharedParts) Parse(own []byte) (Assignment, error) {
	var w AssignmentJSON
	if err := decode(own, &w); err != nil {
		return Assignment{}, fmt.Errorf("cannot read an assignment: %w", err)
	}
	a := c.Whole(Assignment(w.plain))
	return a, a.checkOwn()
}
