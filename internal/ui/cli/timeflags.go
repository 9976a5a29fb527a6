package cli

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"fettle.dev/fettle/internal/duration"
)

// DurationVar defines a flag whose value is a duration such as 90s, 2h or 7d. The variable gets the
// default value at once.
func DurationVar(f *pflag.FlagSet, d *time.Duration, name string, value time.Duration, usage string) {
	*d = value
	f.Var(&durationFlag{d: d}, name, usage)
}

// SpanVar defines a flag like durationVar whose value is longer than 0s. The default value can be 0,
// which means that the flag is not given.
func SpanVar(f *pflag.FlagSet, d *time.Duration, name string, value time.Duration, usage string) {
	*d = value
	f.Var(&durationFlag{d: d, positive: true}, name, usage)
}

// durationFlag implements pflag.Value.
type durationFlag struct {
	d        *time.Duration
	positive bool // 0s is refused
}

func (v *durationFlag) Set(text string) error {
	parse := duration.Parse
	if v.positive {
		parse = parseSpan
	}
	d, err := parse(text)
	if err == nil {
		*v.d = d
	}
	return err
}

// String returns "0" for no duration: pflag does not print this default.
func (v *durationFlag) String() string {
	const day = 24 * time.Hour
	switch {
	case v.d == nil || *v.d == 0:
		return "0"
	case *v.d%day == 0:
		return strconv.Itoa(int(*v.d/day)) + "d"
	}
	return duration.Text(*v.d)
}

func (*durationFlag) Type() string { return "duration" }

// parseSpan reads a duration that must be longer than 0s.
func parseSpan(text string) (time.Duration, error) {
	d, err := duration.Parse(text)
	if err == nil && d == 0 {
		err = fmt.Errorf("%q is too short: write a duration such as 30s", text)
	}
	return d, err
}

// momentFlag is a flag whose value is a time, or a duration before now. It implements pflag.Value.
type momentFlag struct {
	now func() time.Time
	at  *time.Time
}

// MomentVar defines a flag for a time, or for a duration before now.
func MomentVar(f *pflag.FlagSet, p *time.Time, now func() time.Time, name, usage string) {
	f.Var(&momentFlag{now, p}, name, usage)
}

func (v *momentFlag) Set(text string) error {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		*v.at = at
		return nil
	}
	d, err := parseSpan(text)
	if err != nil {
		return fmt.Errorf("%.40q is not a time: write it as 2h, 3d or 2026-11-21T20:00:00Z", text)
	}
	*v.at = v.now().Add(-d)
	return nil
}

func (*momentFlag) String() string { return "" }

func (*momentFlag) Type() string { return "time" }
