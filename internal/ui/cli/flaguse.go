package cli

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Each command uses some of the global flags and refuses the other ones, because a flag without an
// effect misleads the user. --no-color and --verbose affect only the output, and every command accepts
// them.

// alwaysUsed are the flags that every command takes.
func alwaysUsed() []string { return []string{"no-color", "verbose"} }

// readFlags are used to read a repository as its files are.
func readFlags() []string {
	return []string{"chdir", "compile-timeout", "compile-memory", "max-files", "max-file-size"}
}

// CompileFlags are used to compile a repository. Facts and identities come from the
// host below --root, kept lists from its state directory.
func CompileFlags() []string {
	return append(readFlags(), "rev", "var", "identity", "root", "state")
}

// connectFlagNames are used to reach the host that -t or --ssh names; the repository says
// how.
func connectFlagNames() []string {
	return append(readFlags(), "target", "root", "state", "identity", "ssh", "via", "sudo", "ask-sudo-password", "sudo-password-file", "accept-new", "sign-key")
}

// ChangeFlags are used to change a host by a run.
func ChangeFlags() []string { return append(connectFlagNames(), "lock-wait", "on-disconnect") }

// FlagsOf are the global flags that commands use, by the words of the command.
func FlagsOf() map[string][]string {
	join := func(sets ...[]string) []string { return slices.Concat(sets...) }
	doc, place, target := []string{"json"}, []string{"root", "state"}, []string{"target"}
	secrets := []string{"json", "chdir", "identity", "root"}
	machine := join(doc, connectFlagNames())
	locks := join(machine, []string{"lock-wait"})
	changes := join(doc, ChangeFlags())
	out := map[string][]string{
		"init": join(doc, []string{"chdir"}), "fmt": join(doc, []string{"chdir"}),
		"validate": join(doc, CompileFlags(), target), "diff": join(doc, CompileFlags(), target, []string{"via"}),
		"compile": join(doc, CompileFlags(), target, []string{"via"}), "rollout plan": join(doc, CompileFlags()),
		"test": join(doc, readFlags(), []string{"rev", "identity", "root"}), "fleet rollback": join(doc, []string{"chdir"}),
		"docs": join(doc, readFlags(), []string{"rev"}), "schema": join(doc, readFlags(), []string{"rev"}),
		"generate":       join(doc, readFlags(), target, place, []string{"var", "identity"}),
		"lookup refresh": join(doc, readFlags(), []string{"identity", "root"}), "lookup status": join(doc, readFlags()),
		"module list": join(doc, readFlags(), []string{"rev"}), "module add": join(doc, readFlags()), "module update": join(doc, readFlags()),

		"plan": join(locks, CompileFlags()), "apply": join(changes, CompileFlags()),
		"rollback": changes, "recover": changes, "steps apply": changes,
		"steps plan": locks, "confirm": locks, "drift": locks, "freeze": locks, "unfreeze": locks, "gc": locks,
		"status": machine, "facts": machine, "log": machine, "show": machine, "wait": machine, "support-bundle": machine,
		"explain": join(machine, CompileFlags()),
		"run":     join(machine, CompileFlags(), []string{"on-disconnect"}),
		"copy":    join(machine, []string{"on-disconnect"}), "reboot": join(machine, []string{"on-disconnect"}),

		"agent run": join(place, []string{"identity"}), "agent request": join(doc, place), "agent enrol": join(doc, place),
		"agent delete-certificate": join(doc, place), "agent status": join(doc, place),

		"target delete-binary": machine,
		"target enrol":         slices.DeleteFunc(slices.Clone(machine), func(f string) bool { return f == "ssh" }),
		"target pin":           join(doc, target, readFlags()), "permit sign": join(doc, readFlags()),
		"job run": join(doc, target, readFlags(), []string{"rev", "sign-key"}), "login": join(doc, []string{"sign-key"}),

		"hub run": nil, "help": nil, "completion": nil, "man": nil,
		"steps fmt": nil, "steps lint": doc, "steps diff": doc, "version": doc,
		"serve-stdio": place, "watch-confirmation": place,
	}
	for _, c := range []string{"init", "identity", "set", "edit", "show", "list", "add-recipient", "delete-recipient", "rekey"} {
		out["secret "+c] = secrets
	}
	for _, c := range selectingCommands() {
		out[c] = join(doc, target)
	}
	for _, c := range hubCommands() {
		out[c] = doc
	}
	return out
}

// UsedBy are the global flags that a command uses.
func UsedBy(c *cobra.Command) []string {
	words := strings.TrimPrefix(strings.TrimPrefix(c.CommandPath(), c.Root().Name()), " ")
	return append(alwaysUsed(), FlagsOf()[words]...)
}

// shownBy are the global flags in the help of a command. A command that reads a repository only for
// the connections of targets accepts the limits of the compiler, but its help omits them.
func shownBy(c *cobra.Command) []string {
	used := UsedBy(c)
	if slices.Contains(used, "rev") || !slices.Contains(used, "ssh") {
		return used
	}
	return slices.DeleteFunc(used, func(f string) bool { return f != "chdir" && slices.Contains(readFlags(), f) })
}

// describeTarget adapts the help text of -t to a command: which targets it accepts, and its default.
func describeTarget(c *cobra.Command) {
	if f := c.InheritedFlags().Lookup("target"); f != nil {
		f.Usage = targetText(c)
	}
}

func targetText(c *cobra.Command) string {
	words, used := strings.TrimPrefix(c.CommandPath(), c.Root().Name()+" "), UsedBy(c)
	text := "work on this `TARGET`"
	if c.Annotations[ManyMark] != "" {
		text += ", or several: role:web, label:env=prod, 'web*'; see fettle docs targets"
	}
	switch {
	case slices.Contains([]string{"validate", "generate", "target list", "events", "notify set"}, words):
		return text + " (default: all targets)"
	case !slices.Contains(used, "root") || words == "target enrol":
		return text
	case slices.Contains(used, "rev") && words != "run":
		return text + " (default: the name of this host if it is declared, otherwise the only target)"
	}
	return text + " (default: this host)"
}

// refuseUnused refuses global flags that a command does not use.
func refuseUnused(s *Printer, c *cobra.Command) error {
	return refuseOthers(c, c.CommandPath(), UsedBy(c))
}

// refuseOthers refuses all global flags except used, with what as the subject of the error.
func refuseOthers(c *cobra.Command, what string, used []string) error {
	var unused []string
	c.Root().PersistentFlags().VisitAll(func(f *pflag.Flag) {
		if f.Changed && !slices.Contains(used, f.Name) {
			unused = append(unused, "--"+f.Name)
		}
	})
	if len(unused) == 0 {
		return nil
	}
	list := strings.Join(unused, " and ")
	return Misused(Refuse("Leave "+list+" out\nSee: "+c.CommandPath()+" --help", fmt.Sprintf("cannot use %s with %q: it has no effect there", list, what)))
}

// AllowOnly refuses what a mode of a command does not use: global flags other than --json and
// these.
func AllowOnly(c *cobra.Command, mode string, used ...[]string) error {
	return refuseOthers(c, c.CommandPath()+" "+mode, slices.Concat(alwaysUsed(), []string{"json"}, slices.Concat(used...)))
}

// helpOfUsed limits the global flags in the help of a command to the flags that the command uses. It
// wraps the descriptions of flags at width columns.
func helpOfUsed(root *cobra.Command, all []Group, width int) {
	help := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		if shown := shownBy(c); c.HasParent() {
			c.InheritedFlags().VisitAll(func(f *pflag.Flag) { f.Hidden = f.Hidden || !slices.Contains(shown, f.Name) })
			describeTarget(c)
		}
		if !c.HasParent() {
			fmt.Fprint(c.OutOrStdout(), RootHelp(c, all))
			return
		}
		var text bytes.Buffer
		out := c.OutOrStdout()
		c.SetOut(&text)
		help(c, args)
		c.SetOut(out)
		fmt.Fprint(out, WrapFlags(text.String(), width))
	})
}
