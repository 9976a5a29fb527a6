package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fettle.dev/fettle/internal/amount"
	"fettle.dev/fettle/internal/duration"
	"fettle.dev/fettle/internal/size"
)

// Choice is a flag with a closed set of values. It is a pflag.Value.
type Choice struct {
	Value string
	Of    []string
	Given bool // on the command line
}

func (c *Choice) String() string { return c.Value }

// Set refuses anything outside of the set, and names what there is.
func (c *Choice) Set(v string) error {
	if !slices.Contains(c.Of, v) {
		return fmt.Errorf("%.40q is not one of %s", v, strings.Join(c.Of, ", "))
	}
	c.Value, c.Given = v, true
	return nil
}

// Type is shown in the help.
func (c *Choice) Type() string { return strings.Join(c.Of, "|") }

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

// NumberVar defines a flag whose value is a whole number of at least least. The variable gets the
// default value at once.
func NumberVar(f *pflag.FlagSet, n *int, name string, value, least int, usage string) {
	*n = value
	f.Var(&numberFlag{n, least}, name, usage)
}

// numberFlag implements pflag.Value.
type numberFlag struct {
	n     *int
	least int
}

func (v *numberFlag) Set(text string) error {
	const most = 1_000_000_000
	n, err := strconv.Atoi(text)
	if err != nil || n > most {
		return fmt.Errorf("%.40q is not a whole number from %d to %d", text, v.least, most)
	}
	if n < v.least {
		return fmt.Errorf("%d is too small: write at least %d", n, v.least)
	}
	*v.n = n
	return nil
}

func (v *numberFlag) String() string {
	if v.n == nil {
		return "0"
	}
	return strconv.Itoa(*v.n)
}

func (*numberFlag) Type() string { return "int" }

// sizeVar defines a flag whose value is a size such as 64MiB, between two limits in bytes. The
// variable gets the default value at once.
func sizeVar(f *pflag.FlagSet, n *int64, name string, value, least, most int64, usage string) {
	*n = value
	f.Var(&sizeFlag{n, least, most}, name, usage)
}

// sizeFlag implements pflag.Value.
type sizeFlag struct {
	n           *int64 // bytes
	least, most int64
}

func (v *sizeFlag) Set(text string) error {
	n, err := size.Parse(text)
	switch {
	case err != nil:
		return err
	case n < v.least || n > v.most:
		return fmt.Errorf("%q is outside of the limits, which are %s and %s", text, size.Text(v.least), size.Text(v.most))
	}
	*v.n = n
	return nil
}

func (v *sizeFlag) String() string {
	if v.n == nil {
		return "0"
	}
	return size.Text(*v.n)
}

func (*sizeFlag) Type() string { return "size" }

// amountVar defines a flag whose value is a number or a percentage of targets.
func amountVar(c *cobra.Command, text *string, name, usage string) {
	c.Flags().Var(&amountFlag{text}, name, usage)
}

// amountFlag is a flag whose value is a number or a percentage of targets. It implements pflag.Value.
type amountFlag struct{ text *string }

func (v *amountFlag) Set(text string) error {
	_, err := amount.Parse(text)
	if err == nil {
		*v.text = text
	}
	return err
}

func (v *amountFlag) String() string {
	if v.text == nil {
		return ""
	}
	return *v.text
}

func (*amountFlag) Type() string { return "amount" }

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
