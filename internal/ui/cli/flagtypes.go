package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fettle.dev/fettle/internal/amount"
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
