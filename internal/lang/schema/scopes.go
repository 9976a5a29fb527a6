package schema

import (
	"slices"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/kind"
)

// scopeBlocks returns the blocks that declare scopes and their parts.
func scopeBlocks() []Block {
	return []Block{
		{Name: "check", Label: "name", Doc: "A condition of a scope, which targets test again and again: one of http, tcp, " +
			"exec, unit and file.", Attrs: slices.Concat(probeAttrs(), scopeCheckAttrs())},
		{Name: "cluster", Label: "name", Doc: "A scope of the kind cluster.", Attrs: scopeAttrs(),
			Inside: []string{"check", "task"}, oneOf: []string{"labels", "scopes", "targets"}},
		{Name: "environment", Label: "name", Doc: "A scope of the kind environment: an instance of the configuration, such " +
			"as production.", Attrs: environmentAttrs(), Inside: []string{"check", "task"}},
		{Name: "scope", Label: "name",
			Doc: "A set of targets, or of other scopes, with checks, tasks and a verdict of its own.",
			Attrs: append(scopeAttrs(),
				kind.Attr{Name: "kind", Type: cty.String, Required: true, Doc: "name of a scope_kind block, or cluster"}),
			Inside: []string{"check", "task"}}, // a scope whose tasks hubs do has no members
		{Name: "scope_kind", Label: "name", Doc: "A kind of scopes.", Attrs: scopeKindAttrs()},
		{Name: "task", Label: "name",
			Doc:   "Work that a scope does once for each content of the task, on one member or on a hub.",
			Attrs: append(workAttrs(), onlyTaskAttrs()...), Inside: []string{"undo", "verify"}},
		{Name: "undo", Doc: "Undoes a task after it was removed from the repository.", Attrs: workAttrs(),
			Inside: []string{"verify"}},
		{Name: "universe", Label: "name", Doc: "A scope of the kind universe: work of the whole installation, which hubs do.",
			Attrs: append(generatorAttrs("scope"), docAttr()), Inside: []string{"check", "task"}},
		{Name: "verify", Doc: "A condition that holds exactly if the task, or its undo, is done.", Attrs: probeAttrs()},
	}
}

func probeAttrs() []kind.Attr {
	return []kind.Attr{
		{Name: "http", Type: cty.String, Doc: "URL that must answer"},
		{Name: "status", Type: cty.Number, Doc: "expected status; default: 200"},
		{Name: "tcp", Type: cty.String, Doc: "host:port that must accept connections"},
		{Name: "exec", Type: cty.String, Doc: "command that must succeed, split at blanks"},
		{Name: "unit", Type: cty.String, Doc: "unit that must be active"},
		{Name: "file", Type: cty.String, Doc: "path that must exist"},
		{Name: "contains", Type: cty.String, Doc: "text that the answer, output or file must contain"},
	}
}

func scopeCheckAttrs() []kind.Attr {
	return []kind.Attr{
		{Name: "from", Type: cty.List(cty.String),
			Doc: "the targets that test it: name patterns or /regular expressions/; default: the members, or the leading hub"},
		{Name: "quorum", Type: cty.DynamicPseudoType,
			Doc: `how many of them must succeed: "all", a number, or a percentage such as "80%"; default: "all"`},
		durationOf("every", "time between two tests, from 5s to 1h; default: 30s"),
		durationOf("timeout", "time limit of one test, up to 5m; default: 10s"),
		durationOf("fail_after", "time without success after which a condition that held has failed; default: 0s"),
		{Name: "branches", Type: cty.Bool, Doc: "in an environment: whether environments of branches have the check, with " +
			"their own name and domain; default: false"},
		docAttr(),
	}
}

func scopeAttrs() []kind.Attr {
	return append(memberAttrs(),
		kind.Attr{Name: "scopes", Type: cty.List(cty.String), Doc: "the members: other scopes, as KIND/NAME"})
}

func memberAttrs() []kind.Attr {
	return append(generatorAttrs("scope"), []kind.Attr{
		{Name: "targets", Type: cty.List(cty.String), Doc: "the members: name patterns or /regular expressions/"},
		{Name: "labels", Type: cty.DynamicPseudoType, Doc: "the members: targets with all of these labels"},
		{Name: "min_members", Type: cty.Number, Doc: "number of connected members that are necessary; default: 0"},
		docAttr(),
	}...)
}

func environmentAttrs() []kind.Attr {
	return made(append(memberAttrs(),
		plainText("parent", "name of another environment, whose variables apply too"),
		kind.Attr{Name: "domain", Type: cty.String, Doc: "public name; default: NAME.DOMAIN with the domain of the parent"},
		varsAttr("variables of the members"), dataAttr(), mergesAttr()))
}

func scopeKindAttrs() []kind.Attr {
	return []kind.Attr{
		{Name: "enabled", Type: cty.Bool, Doc: "whether scopes can have this kind; default: true"},
		{Name: "overlap", Type: cty.Bool, Doc: "whether a target can be in several scopes of this kind; default: true"},
		plainText("empty", "verdict of a scope without members; default: empty", "empty", "failed"),
		plainText("executor", "does the tasks: one of the members, or the leading hub; default: member", "member", "hub"),
		docAttr(),
	}
}

// workAttrs returns the attributes of a task and of its undo.
func workAttrs() []kind.Attr {
	return []kind.Attr{
		{Name: "command", Type: cty.List(cty.String), Required: true, Doc: "program with arguments, without a shell"},
		{Name: "input", Type: cty.String, Doc: "standard input of the command"},
		{Name: "secrets", Type: cty.Map(cty.String),
			Doc: "names of secrets, by environment variable; only for tasks that hubs do"},
		{Name: "retries", Type: cty.Number, Doc: "number of attempts after the first one; default: 0"},
		durationOf("retry_after", "time between two attempts; default: 30s"),
		durationOf("timeout", "time limit of one attempt, up to 24h; default: 10m"),
		plainText("on_unknown", "effect if the target was lost during the attempt; default: verify, or ask without a "+
			"verify block", "verify", "ask", "retry"),
		docAttr(),
	}
}

func onlyTaskAttrs() []kind.Attr {
	return []kind.Attr{
		{Name: "triggers", Type: cty.DynamicPseudoType, Doc: "any values; if they change, the task is done again"},
		{Name: "after", Type: reference, Doc: "checks and tasks of the same scope that must have succeeded"},
	}
}
