package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fettle.dev/fettle/internal/diag"
)

// FlagError explains a flag that a command does not have, or a value that it does not accept.
func FlagError(c *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	if errors.As(err, &value) {
		return Misused(WithHint(badValue(value), flagHint(c, err)))
	}
	return Misused(WithHint(fmt.Errorf("cannot read the flags: %w", err), flagHint(c, err)))
}

// badValue explains a value that a flag does not accept. The types of pflag return messages of the
// standard library.
func badValue(err *pflag.InvalidValueError) error {
	f, text := err.GetFlag(), err.GetValue()
	switch f.Value.Type() {
	case "bool":
		return fmt.Errorf("cannot use --%s: %.40q is not true or false", f.Name, text)
	case "stringSlice":
		return fmt.Errorf("cannot use --%s: %.40q is not a list: separate items with commas, and quote only whole items",
			f.Name, text)
	case "int64":
		return fmt.Errorf("cannot use --%s: %.40q is not a whole number", f.Name, text)
	}
	return fmt.Errorf("cannot use --%s: %w", f.Name, err.Unwrap())
}

func flagHint(c *cobra.Command, err error) string {
	see := "See: " + c.CommandPath() + " --help"
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return see
	}
	name := unknown.GetSpecifiedName()
	if answer, ok := otherFlags()[name]; ok && c.Flags().Lookup(name) == nil {
		return answer + "\n" + see
	}
	for _, now := range formerFlags()[name] {
		if c.Flags().Lookup(now) != nil {
			return renamed("--"+now) + "\n" + see
		}
	}
	used := UsedBy(c)
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if global := c.Root().PersistentFlags().Lookup(f.Name) != nil; !f.Hidden &&
			(!global || slices.Contains(used, f.Name)) {
			names = append(names, f.Name)
		}
	})
	if near := diag.Nearest(name, names, 3); near != "" {
		return "Did you mean: --" + near + "\n" + see
	}
	return see
}

// UnknownCommand explains words that name no command.
func UnknownCommand(c *cobra.Command, args []string) error {
	hint := "See: " + c.CommandPath() + " --help"
	if len(args) == 0 {
		return Misused(Refuse(hint, fmt.Sprintf("%q needs a command", c.CommandPath())))
	}
	c.SuggestionsMinimumDistance = 2
	answer, known := otherWord(c, args[0])
	switch near := c.SuggestionsFor(args[0]); {
	case known:
		hint = answer
	case len(near) > 0:
		hint = "Did you mean: " + c.CommandPath() + " " + strings.Join(near, ", ")
	}
	return Misused(Refuse(hint, fmt.Sprintf("there is no command %q", c.CommandPath()+" "+args[0])))
}

// Args checks the number of arguments and names the usage when it is wrong.
func Args(low, high int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) >= low && (high < 0 || len(args) <= high) {
			return nil
		}
		if c.HasSubCommands() || !c.HasParent() {
			return UnknownCommand(c, args)
		}
		text := fmt.Sprintf("cannot run %q: it takes %s, not %d", c.CommandPath(), argCount(low, high), len(args))
		return Misused(Refuse("Usage: "+c.UseLine()+"\nSee: "+c.CommandPath()+" --help", text))
	}
}

func argCount(low, high int) string {
	switch {
	case high == 0:
		return "no argument"
	case low == high && low == 1:
		return "1 argument"
	case low == high:
		return fmt.Sprintf("%d arguments", low)
	case high < 0:
		return fmt.Sprintf("%d or more arguments", low)
	}
	return fmt.Sprintf("%d to %d arguments", low, high)
}
