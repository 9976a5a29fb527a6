package schema

import (
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/kind"
)

// Blocks returns all blocks of the language that are not states, sorted by name. Each call returns
// a new slice.
func Blocks() []Block {
	out := slices.Concat(gateBlocks(), waitBlocks(), scopeBlocks(), otherBlocks())
	slices.SortFunc(out, func(a, b Block) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func otherBlocks() []Block {
	return []Block{
		{Name: "action", Label: "name", Doc: "An operation of a module that fettle run starts.", Attrs: actionAttrs(),
			Inside: []string{"param"}},
		{Name: "after", Label: "module", Doc: "Modules that wait until another module is ready on other targets.",
			Attrs: afterAttrs(), oneOf: []string{"labels", "targets"}},
		{Name: "block", Label: "name", Doc: "A group of states with one name.",
			Attrs: append(metaAttrs(false, nil), partAttrs()...), Inside: []string{"block"}, States: true},
		{Name: "command", Label: "name", Doc: "A sequence of parts that fettle run starts on targets.",
			Attrs: []kind.Attr{docAttr(), partTargets()}, Inside: []string{"param", "part"}, needs: []string{"part"}},
		{Name: "define", Label: "name of the kind", Doc: "A kind that the repository defines.", Attrs: defineAttrs(),
			Inside: []string{"block", "fact", "locals", "output", "variable"}, States: true},
		{Name: "enrolled", Label: "name", Doc: "A target that was enrolled in a fleet. Hubs and agents write this block.",
			Attrs: enrolledAttrs()},
		{Name: "expect", Doc: "Expectations of a test. An empty block expects that the target compiles.",
			Attrs: expectAttrs()},
		{Name: "exported", Label: "name", Doc: "An input: values that other targets export as an output of a module.",
			Attrs: exportedAttrs()},
		{Name: "fact", Label: "name of the fact", Doc: "An input: a property of a host.",
			Attrs: []kind.Attr{typeAttr(), defaultAttr("value for hosts without this fact"), docAttr()}},
		{Name: "locals", Doc: "Names for values.", names: true},
		{Name: "lookup", Label: "name", Doc: "A value from outside of the repository, read from its snapshot.",
			Attrs: lookupAttrs(), oneOf: []string{"command", "url"}},
		{Name: "module", Label: "name", Doc: "A module with parameters, or a second instance of a module.",
			Attrs: moduleAttrs()},
		{Name: "needs", Label: "module", Doc: "Another module of the same target that must be ready before this module.",
			Attrs: needsAttrs()},
		{Name: "output", Label: "name", Doc: "A value that a module or kind provides to its users.", Attrs: outputAttrs()},
		{Name: "param", Label: "name", Doc: "A parameter of an action or a command.", Attrs: paramAttrs(),
			Inside: []string{"validation"}},
		{Name: "part", Label: "name",
			Doc:   "One part of a command. The next part begins when this part has ended on all its targets.",
			Attrs: commandPartAttrs(), oneOf: []string{"action", "command"}},
		{Name: "policy", Doc: "Behaviour of runs.", Attrs: policyAttrs()},
		{Name: "role", Label: "name", Doc: "Modules and variables that targets share.", Attrs: levelAttrs(),
			Inside: []string{"module"}},
		{Name: "rollout", Label: "name", Doc: "A strategy: how hubs give a change to targets, in waves.",
			Attrs: rolloutAttrs(), Inside: []string{"after", "wave"}, needs: []string{"wave"}},
		{Name: "ssh", Doc: "The connection to targets over OpenSSH.", Attrs: sshAttrs()},
		{Name: "target", Label: "name", Doc: "A host that the repository configures.",
			Attrs: append(made(levelAttrs()), append(generatorAttrs("target"),
				labels(cty.Map(cty.String), "labels; target groups select by them"))...),
			Inside: []string{"module", "policy", "ssh"}},
		{Name: "target_group", Label: "name", Doc: "Targets selected by name or label, and their shared settings.",
			Attrs: groupAttrs(), Inside: []string{"module", "policy", "ssh"}, oneOf: []string{"labels", "targets"}},
		{Name: "test", Label: "name", Doc: "A test of a module or of a target.", Attrs: testAttrs(),
			Inside: []string{"expect"}, needs: []string{"expect"}},
		{Name: "validation", Doc: "A rule for the value of a variable.", Attrs: validationAttrs()},
		{Name: "variable", Label: "name", Doc: "A parameter of a module or of a kind.", Attrs: variableAttrs(),
			Inside: []string{"validation"}},
		{Name: "wave", Label: "name", Doc: "Targets that get a change at the same stage of a rollout.", Attrs: waveAttrs(),
			Inside: []string{"approval", "compare", "metric", "webhook"}},
		{Name: "lock", Label: "name", Doc: "Slots for targets, granted by hubs: a limit for reboots and other work.",
			Attrs: lockAttrs()},
		{Name: "window", Label: "name", Doc: "A recurring time in which hubs may change targets, or must not.",
			Attrs: windowAttrs()},
	}
}

func topAttrs() []kind.Attr {
	return []kind.Attr{layerAttr(), varsAttr("variables for all targets"), dataAttr(), mergesAttr()}
}

func typeAttr() kind.Attr {
	return plainText("type",
		"string, number, bool, any, list(…), set(…), map(…), object({ … }) or tuple([…]); default: any")
}

func defaultAttr(doc string) kind.Attr {
	return kind.Attr{Name: "default", Type: cty.DynamicPseudoType, Doc: doc}
}

func needsAttrs() []kind.Attr {
	return []kind.Attr{
		plainText("level", "required level: applied once (completion), applied and its checks pass (availability), or the same at the assigned revision (version); default: availability", "completion", "availability", "version"),
		plainText("version", "constraint on the version of the needed module, such as >= 1.4, < 2"),
		docAttr(),
	}
}

func layerAttr() kind.Attr {
	return kind.Attr{Name: "layer", Type: sequence,
		Doc: "modules that all other modules of the targets need, lowest first"}
}

func labels(t cty.Type, doc string) kind.Attr { return kind.Attr{Name: "labels", Type: t, Doc: doc} }

func levelAttrs() []kind.Attr {
	return []kind.Attr{
		{Name: "roles", Type: sequence, Doc: "names of roles"},
		{Name: "modules", Type: sequence, Doc: "directories below modules/"},
		layerAttr(), varsAttr("variables"), dataAttr(), mergesAttr(), docAttr(),
	}
}

func groupAttrs() []kind.Attr { return append(levelAttrs(), selectorAttrs()...) }

func selectorAttrs() []kind.Attr {
	return []kind.Attr{
		{Name: "targets", Type: sequence, Doc: "names with * ? and [a-z], or regular expressions between slashes"},
		labels(mapping, "required labels: a value, a list of accepted values, or * for any value")}
}

func moduleAttrs() []kind.Attr {
	return append(made([]kind.Attr{plainText("source", "directory of the module; default: modules/NAME"),
		varsAttr("variables of this module")}), instancesAttrs()...)
}

func lookupAttrs() []kind.Attr {
	return []kind.Attr{
		plainText("url", "URL with http:// or https://"),
		{Name: "command", Type: cty.List(cty.String),
			Doc: "instead of url: a program and its arguments; it runs in the module's directory"},
		plainText("format", "format of the answer; default: json", "json", "yaml", "text"),
		plainText("max_age", "age after which fettle lookup status reports the snapshot as stale, such as 24h"),
		plainText("timeout", "time limit; default: 30s"), docAttr(),
	}
}

func actionAttrs() []kind.Attr {
	return []kind.Attr{
		{Name: "command", Type: cty.DynamicPseudoType, Required: true,
			Doc: "list of words, or several such lists, which run one after the other until one fails"},
		{Name: "dry_run", Type: cty.DynamicPseudoType,
			Doc: "commands for fettle run --dry-run, which must not change anything"},
		{Name: "changes", Type: cty.Bool, Doc: "false if the action changes nothing; it then runs beside other runs"},
		plainText("output", "json if the commands print JSON objects, which fettle run shows as a table; default: text",
			"json", "text"),
		{Name: "env", Type: cty.Map(cty.String), Doc: "environment variables; secrets are never shown"},
		{Name: "cwd", Type: cty.String, Doc: "working directory"}, {Name: "user", Type: cty.String, Doc: "run as this user"},
		{Name: "timeout", Type: cty.String, Doc: "time limit of each command, such as 30s; default: 5m"},
		{Name: "lock", Type: nameOrList,
			Doc: "name of a lock, or list of names: the action runs with a slot of each lock"}, docAttr(),
	}
}

func partTargets() kind.Attr {
	return kind.Attr{Name: "targets", Type: sequence,
		Doc: "a selection with the syntax of -t; -t restricts it; default: the targets of -t"}
}

func commandPartAttrs() []kind.Attr {
	return []kind.Attr{
		partTargets(),
		plainText("action", "name of an action: NAME or MODULE.NAME"),
		{Name: "params", Type: mapping, Doc: "parameters of the action"},
		{Name: "command", Type: cty.DynamicPseudoType,
			Doc: "instead of action: list of words, or several such lists, which run one after the other until one fails"},
		{Name: "changes", Type: cty.Bool, Doc: "false if the command changes nothing; it then needs no lock"},
		{Name: "env", Type: cty.Map(cty.String), Doc: "environment variables of the command"},
		{Name: "cwd", Type: cty.String, Doc: "working directory"}, {Name: "user", Type: cty.String, Doc: "run as this user"},
		{Name: "timeout", Type: cty.String, Doc: "time limit of the part on one target, such as 30s; default: 5m"},
		{Name: "batch", Type: cty.DynamicPseudoType,
			Doc: "number of targets that run before the next begin, such as 5 or \"10%\""},
		{Name: "max_failed", Type: cty.DynamicPseudoType,
			Doc: "accepted failures; after more, no further target or part begins; default: 0"},
	}
}

func outputAttrs() []kind.Attr {
	return []kind.Attr{{Name: "value", Type: cty.DynamicPseudoType, Required: true, Doc: "the value"},
		{Name: "exported", Type: cty.Bool, Doc: "export the output of a module to other targets"},
		plainText("type", "type; required for exported outputs: string, number, bool, list(…), set(…), map(…), object({ … }) or tuple([…])"),
		docAttr()}
}

func exportedAttrs() []kind.Attr {
	module := plainText("module", "module with the output: a directory below modules/")
	module.Required = true
	return []kind.Attr{
		module, plainText("output", "name of the output; default: name of the block"),
		{Name: "targets", Type: sequence,
			Doc: "select targets by name, with * ? and [a-z], or regular expressions between slashes"},
		labels(mapping, "select targets by label: a value, a list of accepted values, or * for any value"),
		{Name: "same", Type: sequence, Doc: "names of labels that must be equal on both targets"},
		{Name: "at_least", Type: cty.Number,
			Doc: "number of targets that must have reported before the map is known; default: 0"}, docAttr(),
	}
}

func defineAttrs() []kind.Attr {
	return []kind.Attr{plainText("main", "variable that gets the label"), docAttr()}
}

func variableAttrs() []kind.Attr {
	return []kind.Attr{typeAttr(), defaultAttr("default value; a variable without it is required"), docAttr(),
		plainText("merge", "merge of values with values of lower levels; default: replace", mergeWords()...),
		{Name: "file", Type: cty.Bool, Doc: "in define: the value names a file of the module that uses the kind"}}
}

func paramAttrs() []kind.Attr {
	return []kind.Attr{typeAttr(), defaultAttr("default value; a variable without it is required"), docAttr(),
		{Name: "secret", Type: cty.Bool, Doc: "the value is never shown or recorded, and is allowed only in env"}}
}

func validationAttrs() []kind.Attr {
	return []kind.Attr{
		{Name: "condition", Type: condition, Required: true, Doc: "expression that must be true"},
		{Name: "error_message", Type: cty.String, Required: true, Doc: "error message"},
	}
}

func policyAttrs() []kind.Attr {
	word := func(name, doc string, values ...string) kind.Attr {
		return kind.Attr{Name: name, Type: cty.String, OneOf: values, Doc: doc}
	}
	return []kind.Attr{
		word("on_failure", "when a step failed", "stop", "undo"),
		word("on_crash", "after a crash", "undo", "finish"),
		word("on_check_failure", "when a check failed", "keep", "undo"),
		word("drift", "drift: repair or only report", "repair", "report"),
		word("lockout", "confirmation of a run that may lock operators out", "confirm", "checks", "ignore"),
		word("confirm_within", "time to confirm such a run, such as 60s"),
		{Name: "require_undo", Type: cty.Bool, Doc: "refuse exec states without undo"},
		{Name: "create_guests", Type: cty.Bool, Doc: "allow states of the kind guest, which make and remove containers"},
		word("rollout", "strategy for changes of a hub: the name of a rollout block, careful or at-once"),
		{Name: "windows", Type: cty.List(cty.String), Doc: "windows for changes of a hub: names of window blocks"},
		word("repository", "the name of the repository, by which hosts recognize it; only at the top"),
	}
}

func sshAttrs() []kind.Attr {
	return []kind.Attr{
		{Name: "enabled", Type: cty.Bool, Doc: "false: disable ssh of lower levels"},
		{Name: "host", Type: cty.String, Doc: "name, address, or a Host of your ssh_config; default: name of the target"},
		{Name: "user", Type: cty.String, Doc: "login name; default: the setting of ssh"},
		{Name: "port", Type: cty.Number, Doc: "1 to 65535; default: the setting of ssh"},
		{Name: "sudo", Type: cty.Bool, Doc: "become root with sudo"},
		{Name: "options", Type: cty.Map(cty.String), Doc: "options of ssh_config, by name"},
	}
}

func rolloutAttrs() []kind.Attr {
	return []kind.Attr{
		amountOf("max_failed", "failed targets that the rollout tolerates; default: 0"),
		amountOf("max_silent", "targets without contact that the rollout tolerates; default: 2%"),
		amountOf("min_ready", "part of the targets with the change that must be ready before the next wave; default: 95%"),
		amountOf("min_coverage", "part of all targets of a wave that must be ready before the next wave; default: 50%"),
		durationOf("min_ready_time", "time for which a target must be ready without interruption; default: 10s"),
		durationOf("progress_deadline", "time limit until a target is ready; default: 15m"),
		durationOf("silent_after", "time without contact after which a target counts as silent; default: 5m"),
		durationOf("wave_timeout", "time after which frozen targets no longer delay the next wave; default: 24h"),
		{Name: "on_breach", Type: cty.String, OneOf: []string{"pause", "abort", "rollback"},
			Doc: "reaction to more failed or silent targets than tolerated; default: rollback"},
		{Name: "spread", Type: cty.DynamicPseudoType,
			Doc: "label of failure domains, and how many targets of each may be unavailable: { label = \"rack\", max = 1 }"},
		{Name: "rate", Type: cty.Number, Doc: "targets that get the change within a minute; default: no limit"},
		docAttr(),
	}
}

func waveAttrs() []kind.Attr {
	return append(selectorAttrs(),
		amountOf("size", "number of targets, or percentage of all targets of the rollout; default: all remaining targets"),
		amountOf("max_unavailable", "targets with the change that may be not ready at the same time; default: 25%"),
		durationOf("bake", "time between the success of the wave and the next wave; default: 0s"), docAttr())
}

func afterAttrs() []kind.Attr {
	return append([]kind.Attr{{Name: "modules", Type: cty.Set(cty.String), Required: true,
		Doc: "modules that wait, on the targets with this strategy"},
		amountOf("ready", "how many of the selected targets must have the module ready; default: 100%")},
		append(selectorAttrs(), docAttr())...)
}

// amountOf returns an attribute with a number such as 3 or a percentage such as "25%".
func amountOf(name, doc string) kind.Attr {
	return kind.Attr{Name: name, Type: cty.DynamicPseudoType, Doc: doc}
}

func testAttrs() []kind.Attr {
	return []kind.Attr{
		docAttr(),
		{Name: "target", Type: cty.String, Doc: "a target of the repository; default: only the module"},
		labels(cty.Map(cty.String), "labels of the target"),
		{Name: "facts", Type: cty.DynamicPseudoType, Doc: "facts by name; other facts do not exist"},
		{Name: "secrets", Type: cty.Map(cty.String), Doc: "secrets by name; they replace the secrets of the repository"},
		{Name: "outputs", Type: cty.Map(cty.String), Doc: "results of commands by reference; other results are unknown"},
		{Name: "exported", Type: cty.DynamicPseudoType, Doc: "exported values by name of the exported block and target"},
		varsAttr("variables; they have precedence over all levels"),
	}
}

func expectAttrs() []kind.Attr {
	list := func(name, doc string) kind.Attr { return kind.Attr{Name: name, Type: sequence, Doc: doc} }
	return []kind.Attr{
		list("states", "expected states, as references"),
		list("no_states", "states that must not exist"),
		list("deferred", "states that wait for the result of a command"),
		list("steps", "expected steps; * matches any characters"),
		list("no_steps", "steps that must not exist"),
		list("order", "steps in this order"),
		plainText("list", "file beside the test with the complete list"),
		plainText("error", "part of an expected error; the only expectation"),
	}
}

// partAttrs are allowed only on blocks.
func partAttrs() []kind.Attr {
	return []kind.Attr{
		{Name: "rescue", Type: reference, Doc: "actions that run if a state in it failed"},
		{Name: "always", Type: reference, Doc: "actions that run if a state in it changed or failed, before later states"},
	}
}

// metaAttrs returns the attributes that every state has. listen is for kinds with actions, for_each
// for all except blocks.
func metaAttrs(each bool, actions []kind.Action) []kind.Attr {
	attrs := []kind.Attr{
		{Name: "after", Type: reference, Doc: "states, blocks or modules that precede it"},
		{Name: "before", Type: reference, Doc: "states, blocks or modules that follow it"},
		{Name: "notify", Type: reference, Doc: "actions that run if it changed"},
		{Name: "notify_failure", Type: reference, Doc: "actions that run if it failed"},
		{Name: "when", Type: condition, Doc: "expression; if false, it is omitted"},
		{Name: "lock", Type: nameOrList,
			Doc: "name of a lock, or list of names: a run that changes it needs a slot of each lock"},
	}
	if each {
		attrs = append(attrs, kind.Attr{Name: "for_each", Type: expression,
			Doc: "set of strings or map: one state for each element, with each.key and each.value"})
	}
	if len(actions) > 0 {
		var names []string
		for _, a := range actions {
			names = append(names, a.Name)
		}
		attrs = append(attrs, kind.Attr{Name: "listen", Type: listen, OneOf: names,
			Doc: "states whose change runs its action"},
			kind.Attr{Name: "listen_failure", Type: listen, OneOf: names, Doc: "states whose failure runs its action"})
	}
	return attrs
}

func lockAttrs() []kind.Attr {
	return []kind.Attr{
		{Name: "slots", Type: cty.Number,
			Doc: "how many targets can hold a slot at the same time, from 1 to 1000; default: 1"},
		{Name: "lease", Type: cty.String,
			Doc: "the longest time for which a target should hold a slot, from 10s to 30d; default: 30m"},
		{Name: "on_expiry", Type: cty.String, OneOf: []string{"keep", "free"},
			Doc: "whether a slot stays taken after its lease, or becomes free; default: keep"},
		{Name: "wait", Type: cty.String,
			Doc: "the longest time for which a run waits for a slot, from 1s to 1d; default: 10m"},
		{Name: "alarm_after", Type: cty.String,
			Doc: "time for which a target waits for a slot before an alarm is raised, from 1m to 30d; default: no alarm"},
		{Name: "reboots", Type: cty.Bool,
			Doc: "whether targets need a slot for a reboot; at most one lock can have this; default: false"},
		docAttr(),
	}
}

func windowAttrs() []kind.Attr {
	return []kind.Attr{
		{Name: "schedule", Type: cty.String, Required: true,
			Doc: "when the window begins, as in a crontab: minute, hour, day of month, month and weekday"},
		{Name: "duration", Type: cty.String, Required: true, Doc: "time until the window ends, from 5m to 31d"},
		{Name: "zone", Type: cty.String, Doc: "time zone of the schedule, such as Europe/Berlin, or `target` for " +
			"the time zone of each target; default: UTC"},
		{Name: "changes", Type: cty.String, OneOf: []string{"allow", "deny"},
			Doc: "whether changes are allowed only in such windows, or denied in this window; default: allow"},
		docAttr(),
	}
}
