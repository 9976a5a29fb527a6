package records

import (
	"context"

	"fettle.dev/fettle/internal/fleet"
)

// row is one mirror of the table.
type row struct {
	// open creates the mirror and stores it in its field.
	open func(fleet.Store) followed
	// after returns the mirror that must be filled before this one is; nil means none.
	after func() followed
}

// followed is a mirror of any type.
type followed interface {
	Follow(ctx context.Context) error
	Filled() <-chan struct{}
}

// opened is an open mirror, and the mirror that must be filled before; nil means none.
type opened struct {
	followed
	after followed
}

// mirror returns the row of a mirror. A nil parse or format means JSON.
func mirror[T any](to **Mirror[T], prefix string, parse func([]byte) (T, error), format func(T) ([]byte, error)) row {
	return row{open: func(s fleet.Store) followed {
		*to = NewMirror(s, prefix, parse)
		(*to).Format = format
		return *to
	}}
}

func lastKnown(to *LastKnown, away func() error) row {
	return row{open: func(s fleet.Store) followed {
		*to = NewLastKnown(s, away)
		return *to
	}}
}

// after returns a row whose mirror starts when the mirror first is filled.
func after[T any](first **Mirror[T], r row) row {
	r.after = func() followed { return *first }
	return r
}
