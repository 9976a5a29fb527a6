package view

import (
	"errors"
	"fmt"
	"strings"

	"modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"
)

// ErrDamaged is wrapped by errors about a file whose content this package did not write. The model
// cannot be used again: Remove deletes the file, and Open creates a new one.
var ErrDamaged = errors.New("the file of the read model is damaged")

// Damaged returns a channel with the first damage that a read or write found. It delivers one
// error.
func (v *View) Damaged() <-chan error { return v.damage }

// noted returns an error of the database, and reports it to Damaged if it is damage.
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
		default: // one report is enough
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

// isDamage distinguishes damage from a disk that is full or fails. This package creates all tables,
// so a table is missing only if its page was overwritten.
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

func (v *View) unread(err error) error {
	return fmt.Errorf("cannot read the read model: %w", v.noted(err))
}
