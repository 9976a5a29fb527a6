package view

import (
	"errors"
	"fmt"
	"strings"

	"modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"
)

// ErrDamaged is in the chain of the error about a file with other content than this package wrote.
// Its model cannot be used again: Remove the file, and Open makes a new one.
var ErrDamaged = errors.New("the file of the read model is damaged")

// Damaged returns the error of the first damage that was found while the model was read or written.
// The channel has room for it: it may be received once.
func (v *View) Damaged() <-chan error { return v.damage }

// noted returns an error of the database, and notes it if it is damage.
func (v *View) noted(err error) error {
	if err == nil {
		return nil
	}
	if isDamage(err) && !errors.Is(err, ErrDamaged) {
		err = damaged(err)
	}
	if errors.Is(err, ErrDamaged) {
		select {
		case v.damage <- err:
		default: // the first is enough
		}
	}
	return err
}

func damaged(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}

// isDamage distinguishes damage from a disk that is full or fails. The schema is this package's, so
// that a table is missing only if its page is overwritten.
func isDamage(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return false
	}
	switch code := e.Code(); {
	case code&0xff == codes.SQLITE_CORRUPT, code&0xff == codes.SQLITE_NOTADB, code == codes.SQLITE_IOERR_SHORT_READ:
		return true
	default:
		return strings.Contains(e.Error(), "no such table")
	}
}
