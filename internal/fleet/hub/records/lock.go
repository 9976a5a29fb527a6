package records

import (
	"encoding/json"
	"fmt"

	"fettle.dev/fettle/internal/fleet/coordination"
)

// LockFormat is the supported format.
const LockFormat = "fettle.lock/1"

// Lock is the stored state of a lock. Its key is its name.
type Lock struct {
	Format string `json:"format"`
	coordination.State
}

// ParseLock decodes a lock. A hub must not grant slots if it understands the holders only in part, so an unknown
// format is an error.
func ParseLock(b []byte) (l Lock, err error) {
	if err = json.Unmarshal(b, &l); err == nil && l.Format != LockFormat {
		err = fmt.Errorf("this version of fettle cannot read locks in the format %.40q", l.Format)
	}
	return l, err
}
