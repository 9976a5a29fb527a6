package kind

import (
	"errors"
	"fmt"
	"math/big"

	"github.com/zclconf/go-cty/cty"
)

// maxID is the largest id of an account; the next number means "none".
const maxID = 1<<32 - 2

// CheckName requires the name of a user or group; a number is an error.
func CheckName(v cty.Value) error {
	if err := CheckAccount(v); err != nil {
		return err
	}
	switch s := v.AsString(); {
	case s[0] >= '0' && s[0] <= '9':
		return fmt.Errorf("%q is a number: give the name of a user or group", s)
	case len(s) > 32:
		return fmt.Errorf("%q is longer than the 32 letters that the name of a user or group may have", s)
	}
	return nil
}

// CheckID requires the number of a user or group.
func CheckID(v cty.Value) error {
	n, exact := v.AsBigFloat().Int64()
	if exact != big.Exact || n < 0 || n > maxID {
		return errors.New("an id is a whole number from 0 to 4294967294")
	}
	return nil
}

// Number returns a whole number in the form of a step, or "" for null.
func (s State) Number(name string) string {
	if !s.Given(name) {
		return ""
	}
	v, _ := s.Attrs[name].Unmark()
	return v.AsBigFloat().Text('f', 0)
}
