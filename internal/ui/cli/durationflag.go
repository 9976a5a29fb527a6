package cli

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"fettle.dev/fettle/internal/duration"
)

// durationVar defines a flag whose value is a duration such as 90s, 2h or 7d. The variable gets the
// default value at once.
func durationVar(f *pflag.FlagSet, d *time.Duration, name string, value time.Duration, usage string) {
	*d = value
	f.Var((*durationFlag)(d), name, usage)
}

// durationFlag implements pflag.Value.
type durationFlag time.Duration

func (v *durationFlag) Set(text string) error {
	d, err := duration.Parse(text)
	if err == nil {
		*v = durationFlag(d)
	}
	return err
}

// String returns "0" for no duration: pflag does not print this default.
func (v *durationFlag) String() string {
	if *v == 0 {
		return "0"
	}
	return duration.Text(time.Duration(*v))
}

func (*durationFlag) Type() string { return "duration" }

// parseSpan reads a duration of an argument that must be longer than 0s.
func parseSpan(text string) (time.Duration, error) {
	d, err := duration.Parse(text)
	if err == nil && d == 0 {
		err = fmt.Errorf("%q is too short: write a duration such as 30s", text)
	}
	return d, err
}
