package notify

import (
	"errors"
	"fmt"
	"regexp"
	"sync"
)

var fileName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`) })

// CheckName returns an error for an invalid name of a rule or of its files.
func CheckName(name string) error {
	if !fileName().MatchString(name) {
		return fmt.Errorf(
			"cannot use the name %.80q: use up to 64 letters, digits, dots, - and _, and begin with a letter or digit", name)
	}
	return nil
}

func checkFiles(names ...string) error {
	var errs []error
	for _, n := range names {
		if n != "" {
			errs = append(errs, CheckName(n))
		}
	}
	return errors.Join(errs...)
}
