package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// otherFlags are flags of other tools, with the answer of fettle.
func otherFlags() map[string]string {
	const plan = "To see the changes without making them: fettle plan"
	const choose = "To choose targets: -t, as in -t 'web*'"
	return map[string]string{
		"dry-run": plan, "check": plan, "noop": plan, "test": plan, "what-if": plan, "simulate": plan,
		"auto-approve": "To apply without a question: --yes", "force": "To apply without a question: --yes",
		"limit": choose, "inventory": "Targets are declared in the repository. To choose some of them: -t",
		"hosts": choose, "host": "To work on another host: --ssh HOST, or -t TARGET",
		"tags":            "To apply a part, apply a target with fewer modules; a run always has the whole list of its target",
		"diff":            "A plan always shows the differences; whole diffs: -v",
		"become":          "Over SSH: --sudo. On this host: sudo fettle …",
		"ask-become-pass": "Over SSH: --ask-sudo-password", "extra-vars": "To set a variable: --var NAME=VALUE",
		"debug": "To see more: -v", "quiet": "To read the result in a program: --json",
		"follow": "To see changes as they happen: --watch",
		"forks":  "To work on several targets at once: --parallel NUMBER",
		"serial": "To work on a part of the targets at a time: --batch NUMBER",
	}
}

// formerFlags are flags that fettle had before, with their names now.
func formerFlags() map[string][]string {
	return map[string][]string{
		"looks": {"read-only"}, "kept-too": {"override-agent"}, "frozen-too": {"ignore-freeze"},
		"because": {"reason"}, "authority": {"ca-digest"}, "program": {"binary"},
		"for": {"expires"}, "permit-for": {"permit-expires"}, "within": {"expires", "timeout"},
		"adopt": {"replace-applied-state"},
	}
}

// renamed is the hint for a word that fettle used before.
func renamed(name string) string { return "Use " + name }

// otherCommands are commands of other tools and former names of commands, with the answer of fettle.
func otherCommands() map[string]string {
	const plan = "To see the changes without making them: fettle plan"
	const apply = "To apply the repository: fettle apply"
	const back = "To restore the state before fettle: fettle rollback origin\nTo restore an earlier run: fettle rollback RUN"
	const run = "To run a program on targets: fettle run -t TARGETS -- PROGRAM"
	const list, enrol = "To see the targets: fettle target list",
		"To enrol hosts in a fleet: fettle target enrol, or on the host: fettle agent enrol"
	const freezeFor = "To refuse all changes for a time: fettle freeze --expires 2h --reason TEXT"
	const module = "To copy a module of another repository: fettle module add NAME SOURCE"
	return map[string]string{
		"destroy": back, "uninstall": back, "undo": back, "revert": back, "reset": back, "restore": back,
		"deploy": apply, "up": apply, "converge": apply, "highstate": apply, "install": apply, "sync": apply,
		"update": apply, "push": apply, "playbook": apply,
		"noop": plan, "preview": plan, "what-if": plan, "dry-run": plan,
		"refresh": "To compare the host with the applied state: fettle drift",
		"import":  "fettle plan adopts objects that already have the desired state",
		"verify":  "To compare the host with the applied state: fettle drift --verify",
		"history": "To see past runs: fettle log", "runs": "To see past runs: fettle log",
		"logs":  "To see past runs: fettle log",
		"ping":  "To wait until targets answer: fettle wait -t TARGETS",
		"shell": run, "exec": run, "ssh": run, "command": run, "orchestrate": run,
		"inventory": list, "hosts": list, "targets": list, "nodes": list, "minions": list, "agents": list,
		"enrol": enrol, "enroll": enrol, "join": enrol, "register": enrol, "bootstrap": enrol,
		"vault":     "To keep secrets in the repository: fettle secret --help",
		"encrypt":   "To keep secrets in the repository: fettle secret --help",
		"lint":      "To check the repository: fettle validate",
		"check":     "To check the repository: fettle validate\n" + plan,
		"render":    "To print the step list of a target: fettle compile",
		"show-list": "To print the step list of a target: fettle compile",
		"doctor":    "To see the state of this host: fettle status. Of a hub: fettle hub check",
		"facter":    "To see the facts of a host: fettle facts", "grains": "To see the facts of a host: fettle facts",
		"setup":  "To see the facts of a host: fettle facts",
		"galaxy": module, "install-module": module, "vendor": module, "get": module,
		"pause": "To refuse all changes: fettle freeze", "hold": freezeFor, "lock": freezeFor,
		"resume": "To allow changes again: fettle unfreeze", "thaw": "To allow changes again: fettle unfreeze",
		"unlock": "To allow changes again: fettle unfreeze",
		"prune":  "To delete old runs: fettle gc", "cleanup": "To delete old runs: fettle gc",
		"logout": "To end a login: fettle user revoke NAME LOGIN",
		"ask":    renamed("fettle request"), "person": renamed("fettle user"), "people": renamed("fettle user list"),
		"certificate": renamed("fettle cert"), "settle": renamed("fettle recover"),
		"withdraw": renamed("fettle job cancel, or fettle user revoke"),
		"forbid":   renamed("fettle cert revoke"), "refuse": renamed("fettle request reject"),
	}
}

// otherSubcommands are former names of commands below another one, and likely guesses.
func otherSubcommands() map[string]string {
	const job = "Jobs of users for agents: fettle job run, fettle job apply"
	return map[string]string{
		"request run": job, "request apply": job, "request verify": job, "request report": job,
		"request create": job, "request cancel": renamed("fettle job cancel"),
		"request show": renamed("fettle job show"), "request withdraw": renamed("fettle job cancel"),
		"job withdraw":   renamed("fettle job cancel"),
		"request refuse": renamed("fettle request reject"), "request deny": renamed("fettle request reject"),
		"notify deny":   renamed("fettle notify reject"),
		"user withdraw": renamed("fettle user revoke"),
		"user create":   "To create a user: fettle user set NAME --role ROLE",
		"user add":      "To create a user: fettle user set NAME --role ROLE",
		"user lock":     "To lock a user out: fettle user set NAME --locked",
		"user delete":   "To lock a user out: fettle user set NAME --locked",
		"user remove":   "To lock a user out: fettle user set NAME --locked",
		"cert forbid":   renamed("fettle cert revoke"), "hub upgrade": renamed("fettle agent upgrade"),
		"agent ask":  renamed("fettle agent request"),
		"agent join": renamed("fettle agent enrol"), "target thaw": renamed("fettle target unfreeze"),
		"target delete": "To end the membership of a target: fettle target retire NAME",
		"target remove": "To end the membership of a target: fettle target retire NAME",
		"hub remove":    "To remove a hub from the fleet: fettle hub retire NAME",
		"hub status":    "To see the state of a hub: fettle hub check. Of the fleet: fettle status --fleet",
		"agent retire":  "To end the membership of this host, on a hub or a workstation: fettle target retire NAME",
		"hub start":     "To run a hub: systemctl start fettle-hub, or fettle hub run",
		"agent start":   "To run an agent: systemctl start fettle-agent, or fettle agent run",
		"target add":    "To enrol a host: fettle target enrol",
		"notify create": "To create a rule: fettle notify set RULE", "notify add": "To create a rule: fettle notify set RULE",
		"secret get":    "To print a secret: fettle secret show NAME",
		"secret delete": "To delete a secret, delete its file below secrets/, and commit that",
	}
}

// otherWord returns the hint for an unknown name of a command or subcommand. ok is false if there is
// no hint for the name.
func otherWord(c *cobra.Command, word string) (hint string, ok bool) {
	if !c.HasParent() {
		hint, ok = otherCommands()[word]
		return hint, ok
	}
	hint, ok = otherSubcommands()[strings.TrimPrefix(c.CommandPath(), c.Root().Name()+" ")+" "+word]
	return hint, ok
}
