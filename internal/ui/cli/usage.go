package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fettle.dev/fettle/internal/diag"
)

// otherFlags are flags of other tools, with the answer of fettle.
func otherFlags() map[string]string {
	const plan = "To see the changes without making them: fettle plan"
	return map[string]string{
		"dry-run": plan, "check": plan, "noop": plan, "test": plan, "what-if": plan, "simulate": plan,
		"auto-approve": "To apply without a question: --yes", "force": "To apply without a question: --yes",
		"limit": "To choose targets: -t, as in -t 'web*'", "inventory": "Targets are declared in the repository. To choose some of them: -t",
		"hosts": "To choose targets: -t, as in -t 'web*'", "host": "To work on another host: --ssh HOST, or -t TARGET",
		"tags": "To apply a part, apply a target with fewer modules; a run always has the whole list of its target",
		"diff": "A plan always shows the differences; whole diffs: -v", "become": "Over SSH: --sudo. On this host: sudo fettle …",
		"ask-become-pass": "Over SSH: --ask-sudo-password", "extra-vars": "To set a variable: --var NAME=VALUE",
		"debug": "To see more: -v", "quiet": "To read the result in a program: --json", "follow": "To see changes as they happen: --watch",
	}
}

// otherCommands are commands of other tools, with the answer of fettle.
func otherCommands() map[string]string {
	const apply = "To apply the repository: fettle apply"
	const back = "To restore the state before fettle: fettle rollback origin\nTo restore an earlier run: fettle rollback RUN"
	return map[string]string{
		"destroy": back, "uninstall": back, "undo": back, "revert": back, "reset": back,
		"deploy": apply, "up": apply, "converge": apply, "highstate": apply, "install": apply, "sync": apply, "update": apply, "push": apply,
		"noop": "To see the changes without making them: fettle plan", "preview": "To see the changes without making them: fettle plan",
		"refresh": "To compare the host with the applied state: fettle drift", "import": "fettle plan adopts objects that already have the desired state",
		"history": "To see past runs: fettle log", "ping": "To wait until targets answer: fettle wait -t TARGETS",
		"shell": "To run a command on targets: fettle run -t TARGETS -- COMMAND", "exec": "To run a command on targets: fettle run -t TARGETS -- COMMAND",
		"inventory": "To see the targets: fettle target list", "hosts": "To see the targets: fettle target list",
		"vault": "To keep secrets in the repository: fettle secret --help", "lint": "To check the repository: fettle validate",
		"check":  "To check the repository: fettle validate\nTo see the changes without making them: fettle plan",
		"doctor": "To see the state of this host: fettle status. Of a hub: fettle hub check",
	}
}

// flagError explains a flag that a command does not have, or a value that it does not accept.
func flagError(c *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	if errors.As(err, &value) {
		return misused(withHint(badValue(value), flagHint(c, err)))
	}
	return misused(withHint(fmt.Errorf("cannot read the flags: %w", err), flagHint(c, err)))
}

// badValue explains a value that a flag does not accept. The types of pflag return messages of the
// standard library.
func badValue(err *pflag.InvalidValueError) error {
	f, text := err.GetFlag(), err.GetValue()
	switch f.Value.Type() {
	case "bool":
		return fmt.Errorf("cannot use --%s: %.40q is not true or false", f.Name, text)
	case "stringSlice":
		return fmt.Errorf("cannot use --%s: %.40q is not a list: separate items with commas, and quote only whole items", f.Name, text)
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
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if near := diag.Nearest(name, names, 3); near != "" {
		return "Did you mean: --" + near + "\n" + see
	}
	return see
}

// unknownCommand explains words that name no command.
func unknownCommand(c *cobra.Command, args []string) error {
	hint := "See: " + c.CommandPath() + " --help"
	if len(args) == 0 {
		return misused(refuse(hint, fmt.Sprintf("%q needs a command", c.CommandPath())))
	}
	c.SuggestionsMinimumDistance = 2
	answer, known := otherCommands()[args[0]]
	switch near := c.SuggestionsFor(args[0]); {
	case known && !c.HasParent():
		hint = answer
	case len(near) > 0:
		hint = "Did you mean: " + c.CommandPath() + " " + strings.Join(near, ", ")
	}
	return misused(refuse(hint, fmt.Sprintf("there is no command %q", c.CommandPath()+" "+args[0])))
}
