package schema

import (
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/kind"
)

// Block is a block of the language that is no state.
type Block struct {
	Name, Doc string
	// Label is what the label is, "" for a block without one.
	Label string
	Attrs []kind.Attr
	// Inside are the blocks that it may hold. States tells that it holds states
	// as well.
	Inside []string
	States bool
	// names tells that the attributes are names of the writer's own.
	names bool
	// one of these attributes has to be given.
	oneOf []string
	// needs are blocks that have to be inside.
	needs []string
}

// Blocks are all blocks of the language that are no states, sorted by name. The
// slice is fresh at each call.
func Blocks() []Block {
	return []Block{
		{Name: "action", Label: "name", Doc: "Something that fettle run does when it is asked to.", Attrs: actionAttrs(), Inside: []string{"param"}},
		{Name: "block", Label: "name", Doc: "States that others refer to as one.", Attrs: append(metaAttrs(false, nil), partAttrs()...), Inside: []string{"block"}, States: true},
		{Name: "command", Label: "name", Doc: "Something that fettle run does on targets, part after part.", Attrs: []kind.Attr{docAttr(), partTargets()}, Inside: []string{"param", "part"}, needs: []string{"part"}},
		{Name: "define", Label: "name of the kind", Doc: "A kind of the repository's own.", Attrs: defineAttrs(), Inside: []string{"block", "fact", "locals", "output", "variable"}, States: true},
		{Name: "enrolled", Label: "name", Doc: "A target that a fleet knows of. Hubs and agents write it.", Attrs: []kind.Attr{labels(cty.Map(cty.String), "the labels that it was enrolled with; those that a target block declares stand above"), {Name: "waits", Type: cty.Set(cty.String), Doc: "the folders of modules that it has and that may not go on yet: they need not be there"}}},
		{Name: "expect", Doc: "What a test wants. Without anything it wants that it compiles.", Attrs: expectAttrs()},
		{Name: "exported", Label: "name", Doc: "An input: what other targets export under an output of a module.", Attrs: exportedAttrs()},
		{Name: "fact", Label: "name of the fact", Doc: "An input: something that is known of a host.", Attrs: []kind.Attr{typeAttr(), defaultAttr("the value where the host has none"), docAttr()}},
		{Name: "locals", Doc: "Names for values.", names: true},
		{Name: "lookup", Label: "name", Doc: "A value from outside of the repository, read from its snapshot.", Attrs: lookupAttrs(), oneOf: []string{"command", "url"}},
		{Name: "module", Label: "name", Doc: "A module with parameters, or a second time.", Attrs: moduleAttrs()},
		{Name: "needs", Label: "module", Doc: "Another module of the same target that has to be ready before this one.", Attrs: []kind.Attr{
			plainText("level", "how far it has to be: applied once (completion), applied with its checks (availability, when left out), or that at the revision that is assigned now (version)", "completion", "availability", "version"), docAttr()}},
		{Name: "output", Label: "name", Doc: "A value that a module or kind gives to those who use it.", Attrs: outputAttrs()},
		{Name: "param", Label: "name", Doc: "A parameter of an action or a command.", Attrs: paramAttrs(), Inside: []string{"validation"}},
		{Name: "part", Label: "name", Doc: "What a command does on some targets. The next part begins when it has ended on all of them.", Attrs: commandPartAttrs(), oneOf: []string{"action", "command"}},
		{Name: "policy", Doc: "How runs behave.", Attrs: policyAttrs()},
		{Name: "role", Label: "name", Doc: "Modules and variables that targets share.", Attrs: levelAttrs(), Inside: []string{"module"}},
		{Name: "ssh", Doc: "How targets are reached: by OpenSSH.", Attrs: sshAttrs()},
		{Name: "target", Label: "name", Doc: "A thing that is configured.", Attrs: append(levelAttrs(), labels(cty.Map(cty.String), "its labels, by which target groups select it")), Inside: []string{"module", "policy", "ssh"}},
		{Name: "target_group", Label: "name", Doc: "Targets by name or label, with what they share.", Attrs: groupAttrs(), Inside: []string{"module", "policy", "ssh"}, oneOf: []string{"labels", "targets"}},
		{Name: "test", Label: "name", Doc: "What a module, or a target, comes to.", Attrs: testAttrs(), Inside: []string{"expect"}, needs: []string{"expect"}},
		{Name: "validation", Doc: "A rule for the value of a variable.", Attrs: validationAttrs()},
		{Name: "variable", Label: "name", Doc: "A parameter of a module or of a kind.", Attrs: variableAttrs(), Inside: []string{"validation"}},
	}
}

func topAttrs() []kind.Attr {
	return []kind.Attr{layerAttr(), varsAttr("variables for all targets"), dataAttr(), mergesAttr()}
}

// plainText is an attribute that is read before anything is known.
func plainText(name, doc string, oneOf ...string) kind.Attr {
	return kind.Attr{Name: name, Type: plain, Doc: doc, OneOf: oneOf}
}

func typeAttr() kind.Attr {
	return plainText("type", "string, number, bool, any, list(…), set(…), map(…), object({ … }) or tuple([…]); any when left out")
}

func docAttr() kind.Attr { return plainText("description", "for people") }

func defaultAttr(doc string) kind.Attr {
	return kind.Attr{Name: "default", Type: cty.DynamicPseudoType, Doc: doc}
}

func varsAttr(doc string) kind.Attr {
	return kind.Attr{Name: "vars", Type: mapping, Doc: doc}
}

func dataAttr() kind.Attr {
	return kind.Attr{Name: "data", Type: cty.List(cty.String), Doc: "files of variables, paths from the top of the repository; a later one stands above"}
}

// mergeWords are the ways in which a value joins those below it.
func mergeWords() []string { return []string{"replace", "shallow", "deep"} }

func mergesAttr() kind.Attr {
	return kind.Attr{Name: "merge", Type: mapping, OneOf: mergeWords(), Doc: "how values given here join those below, by the name of the variable"}
}

func layerAttr() kind.Attr {
	return kind.Attr{Name: "layer", Type: sequence, Doc: "modules that all other modules of the targets need, lowest first"}
}

func labels(t cty.Type, doc string) kind.Attr { return kind.Attr{Name: "labels", Type: t, Doc: doc} }

func levelAttrs() []kind.Attr {
	return []kind.Attr{
		{Name: "roles", Type: sequence, Doc: "roles that it plays, by name"},
		{Name: "modules", Type: sequence, Doc: "folders below modules/"},
		layerAttr(), varsAttr("variables"), dataAttr(), mergesAttr(), docAttr(),
	}
}

func groupAttrs() []kind.Attr {
	return append(levelAttrs(),
		kind.Attr{Name: "targets", Type: sequence, Doc: "names with * ? and [a-z], or regular expressions between slashes"},
		labels(mapping, "values of labels: a text, a list of which one has to be the value, or * for any"))
}

func moduleAttrs() []kind.Attr {
	return []kind.Attr{plainText("source", "folder of the module; modules/NAME when left out"), varsAttr("variables for this module alone")}
}

func lookupAttrs() []kind.Attr {
	return []kind.Attr{
		plainText("url", "what is asked: http:// or https://"),
		{Name: "command", Type: cty.List(cty.String), Doc: "or what is run, in the module's folder: the program and its arguments"},
		plainText("format", "what the answer is: json when left out", "json", "yaml", "text"),
		plainText("max_age", "after which fettle lookup status calls the snapshot stale, such as 24h"),
		plainText("timeout", "how long the answer may take: 30s when left out"), docAttr(),
	}
}

func actionAttrs() []kind.Attr {
	return []kind.Attr{
		{Name: "command", Type: cty.DynamicPseudoType, Required: true, Doc: "list of words, or several such lists, which run one after the other until one fails"},
		{Name: "dry_run", Type: cty.DynamicPseudoType, Doc: "commands that say what it would do, for fettle run --dry-run"},
		{Name: "changes", Type: cty.Bool, Doc: "false for an action that only looks, which waits for no lock"},
		plainText("output", "json for commands that print JSON: objects, which fettle run shows as a table; text when left out", "json", "text"),
		{Name: "env", Type: cty.Map(cty.String), Doc: "environment variables; a secret among them is shown nowhere"},
		{Name: "cwd", Type: cty.String, Doc: "working directory"}, {Name: "user", Type: cty.String, Doc: "run as this user"},
		{Name: "timeout", Type: cty.String, Doc: "of each command, such as 30s; 5m when left out"}, docAttr(),
	}
}

func partTargets() kind.Attr {
	return kind.Attr{Name: "targets", Type: sequence, Doc: "a selection, as -t takes it, which -t makes smaller; without it the part runs where -t says"}
}

func commandPartAttrs() []kind.Attr {
	return []kind.Attr{
		partTargets(),
		plainText("action", "the action that it runs: NAME or MODULE.NAME"),
		{Name: "params", Type: mapping, Doc: "parameters of the action"},
		{Name: "command", Type: cty.DynamicPseudoType, Doc: "or what it runs: list of words, or several such lists, which run one after the other until one fails"},
		{Name: "changes", Type: cty.Bool, Doc: "false for a command that only looks, which waits for no lock"},
		{Name: "env", Type: cty.Map(cty.String), Doc: "environment variables of the command"},
		{Name: "cwd", Type: cty.String, Doc: "its working directory"}, {Name: "user", Type: cty.String, Doc: "run it as this user"},
		{Name: "timeout", Type: cty.String, Doc: "of all of it on one target, such as 30s; 5m when left out"},
		{Name: "batch", Type: cty.DynamicPseudoType, Doc: "so many targets are finished before the next begin, such as 5 or \"10%\""},
		{Name: "max_failed", Type: cty.DynamicPseudoType, Doc: "so many may fail; with one more no target begins, and no part: 0 when left out"},
	}
}

func outputAttrs() []kind.Attr {
	return []kind.Attr{{Name: "value", Type: cty.DynamicPseudoType, Required: true, Doc: "what it gives"},
		{Name: "exported", Type: cty.Bool, Doc: "of a module: other targets may use it, too"},
		plainText("type", "what it is; an exported output has to say all of it: string, number, bool, list(…), set(…), map(…), object({ … }) or tuple([…])"), docAttr()}
}

func exportedAttrs() []kind.Attr {
	module := plainText("module", "whose output it is: a folder below modules/")
	module.Required = true
	return []kind.Attr{
		module, plainText("output", "the output; the name of the block when left out"),
		{Name: "targets", Type: sequence, Doc: "whose: names with * ? and [a-z], or regular expressions between slashes"},
		labels(mapping, "and whose labels are these: a text, a list of which one has to be the value, or * for any"),
		{Name: "same", Type: sequence, Doc: "and whose labels of these names are as those of the target that uses it"},
		{Name: "at_least", Type: cty.Number, Doc: "so many have to have reported before it is known: 0 when left out"}, docAttr(),
	}
}

func defineAttrs() []kind.Attr {
	return []kind.Attr{plainText("main", "the variable that the label stands for"), docAttr()}
}

func variableAttrs() []kind.Attr {
	return []kind.Attr{typeAttr(), defaultAttr("the value when none is given; without it one must be"), docAttr(), plainText("merge", "how values join those below: replace when left out", mergeWords()...),
		{Name: "file", Type: cty.Bool, Doc: "of a defined kind: it names a file of the module that uses the kind"}}
}

func paramAttrs() []kind.Attr {
	return []kind.Attr{typeAttr(), defaultAttr("the value when none is given; without it one must be"), docAttr(),
		{Name: "secret", Type: cty.Bool, Doc: "what is given is shown and recorded nowhere, and may stand in env alone"}}
}

func validationAttrs() []kind.Attr {
	return []kind.Attr{
		{Name: "condition", Type: condition, Required: true, Doc: "expression that has to be true"},
		{Name: "error_message", Type: cty.String, Required: true, Doc: "what is said when it is not"},
	}
}

func policyAttrs() []kind.Attr {
	word := func(name, doc string, values ...string) kind.Attr {
		return kind.Attr{Name: name, Type: cty.String, OneOf: values, Doc: doc}
	}
	return []kind.Attr{
		word("on_failure", "when a step failed", "stop", "undo"),
		word("on_crash", "after a crash", "undo", "finish"),
		word("on_check_failure", "when a check failed", "keep", "rollback"),
		word("drift", "what somebody else changed", "repair", "report"),
		word("lockout", "what confirms a run that may lock an operator out", "confirm", "checks", "ignore"),
		word("confirm_within", "how long such a run waits for its confirmation, such as 60s"),
		{Name: "require_undo", Type: cty.Bool, Doc: "refuse exec states without undo"},
		word("repository", "the name of the repository, by which hosts recognize it; only at the top"),
	}
}

func sshAttrs() []kind.Attr {
	return []kind.Attr{
		{Name: "enabled", Type: cty.Bool, Doc: "false: not by ssh after all, whatever a lower level says"},
		{Name: "host", Type: cty.String, Doc: "name, address, or a Host of your ssh_config; the name of the target when left out"},
		{Name: "user", Type: cty.String, Doc: "whom to log in as; what ssh says when left out"},
		{Name: "port", Type: cty.Number, Doc: "1 to 65535; what ssh says when left out"},
		{Name: "sudo", Type: cty.Bool, Doc: "become root with sudo there"},
		{Name: "options", Type: cty.Map(cty.String), Doc: "options of ssh_config, by name"},
	}
}

func testAttrs() []kind.Attr {
	return []kind.Attr{
		docAttr(),
		{Name: "target", Type: cty.String, Doc: "a target of the repository; without it the module alone"},
		labels(cty.Map(cty.String), "labels of the target"),
		{Name: "facts", Type: cty.DynamicPseudoType, Doc: "facts by name; there are no others"},
		{Name: "secrets", Type: cty.Map(cty.String), Doc: "secrets by name, in the place of the repository's"},
		{Name: "outputs", Type: cty.Map(cty.String), Doc: "what commands gave, by state as it is referred to; every other result is not known yet"},
		{Name: "exported", Type: cty.DynamicPseudoType, Doc: "what other targets export, by exported block and target; there is nothing else"},
		varsAttr("variables, above every other level"),
	}
}

func expectAttrs() []kind.Attr {
	list := func(name, doc string) kind.Attr { return kind.Attr{Name: name, Type: sequence, Doc: doc} }
	return []kind.Attr{
		list("states", "states that are there, as they are referred to"),
		list("no_states", "states that are not there"),
		list("held", "states that wait for what a run gives"),
		list("steps", "steps that are there; * is any text"),
		list("no_steps", "steps that are not there"),
		list("order", "steps that come one after the other"),
		plainText("list", "file beside the test that holds the whole list"),
		plainText("error", "part of a mistake that has to be found; stands alone"),
	}
}

// partAttrs stand on blocks alone.
func partAttrs() []kind.Attr {
	return []kind.Attr{
		{Name: "rescue", Type: reference, Doc: "actions that run if something in it failed"},
		{Name: "always", Type: reference, Doc: "actions that run if something in it changed or failed, before what is after it"},
	}
}

// metaAttrs are those that every state has; listen is for kinds with actions,
// for_each for all but blocks.
func metaAttrs(each bool, actions []kind.Action) []kind.Attr {
	attrs := []kind.Attr{
		{Name: "after", Type: reference, Doc: "states, blocks or modules that come before it"},
		{Name: "before", Type: reference, Doc: "states, blocks or modules that come after it"},
		{Name: "notify", Type: reference, Doc: "actions that run if it changed"},
		{Name: "notify_failure", Type: reference, Doc: "actions that run if it failed"},
		{Name: "when", Type: condition, Doc: "expression; false leaves it out"},
	}
	if each {
		attrs = append(attrs, kind.Attr{Name: "for_each", Type: expression, Doc: "expression that gives a set of texts or a map: a state for each, with each.key and each.value"})
	}
	if len(actions) > 0 {
		var names []string
		for _, a := range actions {
			names = append(names, a.Name)
		}
		attrs = append(attrs, kind.Attr{Name: "listen", Type: listen, OneOf: names, Doc: "states whose change runs an action of it"},
			kind.Attr{Name: "listen_failure", Type: listen, OneOf: names, Doc: "states whose failure runs an action of it"})
	}
	return attrs
}
