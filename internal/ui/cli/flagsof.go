package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// selectingCommands are the words of commands that ask a hub about targets of -t.
func selectingCommands() []string {
	return []string{
		"target list", "target approve", "target label", "target unpin", "target freeze", "target unfreeze",
		"target suspect", "target trust", "target retire", "target revoke", "cert revoke", "job apply", "job report",
		"job verify", "agent upgrade", "request policy set", "request policy delete", "notify set", "events",
		"exemption request",
	}
}

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

// FlagsOf are the global flags that commands use, by the words of the command. Commands of the group for hubs that are
// not in the table only use --json.
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
		"graph":   join(doc, CompileFlags(), target, []string{"via"}),
		"compile": join(doc, CompileFlags(), target, []string{"via"}), "rollout plan": join(doc, CompileFlags()),
		"test": join(doc, readFlags(), []string{"rev", "identity", "root"}), "fleet rollback": join(doc, []string{"chdir"}),
		"docs": join(doc, readFlags(), []string{"rev"}), "schema": join(doc, readFlags(), []string{"rev"}),
		"generate":       join(doc, readFlags(), target, place, []string{"var", "identity"}),
		"lookup refresh": join(doc, readFlags(), []string{"identity", "root"}), "lookup status": join(doc, readFlags()),
		"module show": doc, "module history": doc,
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
		"job run": join(doc, target, readFlags(), []string{"rev", "sign-key"}),
		"login":   join(doc, []string{"sign-key"}), "environment create": join(doc, target, []string{"var"}),
		"environment follow": join(doc, target, []string{"var"}),

		"hub run": nil, "ui": join(CompileFlags(), target), "help": nil, "completion": nil, "man": nil,
		"steps fmt": nil, "steps lint": doc, "steps diff": doc, "version": doc,
		"serve-stdio": place, "watch-confirmation": place,
	}
	for _, c := range []string{"init", "identity", "set", "edit", "show", "list", "add-recipient", "delete-recipient", "rekey"} {
		out["secret "+c] = secrets
	}
	for _, c := range selectingCommands() {
		out[c] = join(doc, target)
	}
	return out
}

// UsedBy are the global flags that a command uses.
func UsedBy(c *cobra.Command) []string {
	words := strings.TrimPrefix(strings.TrimPrefix(c.CommandPath(), c.Root().Name()), " ")
	flags, listed := FlagsOf()[words]
	if !listed && AsksHub(c) {
		flags = []string{"json"}
	}
	return append(alwaysUsed(), flags...)
}

// fleetGroup is the ID of the group of commands that ask a hub.
const fleetGroup = "fleet"

// AsksHub reports whether a command is in the group of commands that ask a hub.
func AsksHub(c *cobra.Command) bool {
	for ; c != nil; c = c.Parent() {
		if c.GroupID == fleetGroup {
			return true
		}
	}
	return false
}
