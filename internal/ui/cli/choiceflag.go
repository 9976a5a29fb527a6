package cli

import (
	"fmt"
	"slices"
	"strings"
)

// choice is a flag with a closed set of values. It is a pflag.Value.
type choice struct {
	value string
	of    []string
	given bool // on the command line
}

func (c *choice) String() string { return c.value }

// Set refuses anything outside of the set, and names what there is.
func (c *choice) Set(v string) error {
	if !slices.Contains(c.of, v) {
		return fmt.Errorf("it must be one of %s", strings.Join(c.of, ", "))
	}
	c.value, c.given = v, true
	return nil
}

// Type is shown in the help.
func (c *choice) Type() string { return strings.Join(c.of, "|") }
