package schema

import (
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/kind"
)

// gateBlocks returns the gates of waves.
func gateBlocks() []Block {
	return []Block{
		{Name: "approval", Label: "name", Doc: "A gate: users must approve before a wave of a rollout ends.",
			Attrs: approvalAttrs()},
		{Name: "compare", Label: "name",
			Doc:   "A gate: values on targets with the change must not be worse than on targets without it.",
			Attrs: compareAttrs()},
		{Name: "metric", Label: "name", Doc: "A gate: a value of Prometheus must be good before a wave of a rollout ends.",
			Attrs: metricAttrs()},
		{Name: "webhook", Label: "name", Doc: "A gate: another program must agree before a wave of a rollout ends.",
			Attrs: webhookAttrs()},
	}
}

func dryRun() kind.Attr {
	return kind.Attr{Name: "dry_run", Type: cty.Bool, Doc: "record the verdicts, without an effect; default: false"}
}

func gateTimeout() kind.Attr {
	return durationOf("timeout", "time after which the rollout pauses if the gate has not passed; default: wave_timeout "+
		"after the bake time")
}

func approvalAttrs() []kind.Attr {
	return []kind.Attr{
		{Name: "need", Type: cty.Number, Doc: "number of users who must approve; default: 1"},
		{Name: "users", Type: sequence, Doc: "users that may approve; default: all users with the right approve"},
		{Name: "groups", Type: sequence, Doc: "groups whose members may approve, beside users: see fettle user set --help"},
		{Name: "not_author", Type: cty.Bool,
			Doc: "the author of the commit does not count; if no user has this name, one user more must approve"},
		durationOf("expires", "time for which an approval counts; default: 24h"), gateTimeout(), dryRun(), docAttr(),
	}
}

// askedAttrs returns the attributes of a gate that the hub asks.
func askedAttrs(url, interval string) []kind.Attr {
	return []kind.Attr{
		{Name: "url", Type: cty.String, Doc: url},
		durationOf("initial_delay", "time between the begin of the bake time and the first verdict; default: 0s"),
		durationOf("interval", "time between two verdicts; default: "+interval),
		{Name: "failure_limit", Type: cty.Number, Doc: "failures that are tolerated; default: 0"},
		{Name: "error_limit", Type: cty.Number,
			Doc: "errors in succession that are tolerated before the rollout pauses; default: 4"},
		gateTimeout(), dryRun(), docAttr(),
	}
}

func metricAttrs() []kind.Attr {
	return append(askedAttrs("address of Prometheus, without /api/v1/query", "1m"),
		kind.Attr{Name: "query", Type: cty.String, Doc: "expression of PromQL with one value"},
		kind.Attr{Name: "token", Type: cty.String, Doc: "file on the hub with the address and the token for it"},
		kind.Attr{Name: "min", Type: cty.Number, Doc: "smallest good value"},
		kind.Attr{Name: "max", Type: cty.Number, Doc: "largest good value"},
		kind.Attr{Name: "count", Type: cty.Number, Doc: "number of good values that are necessary; default: 1"})
}

func webhookAttrs() []kind.Attr {
	return append(askedAttrs("address that gets a POST; default: only fettle rollout verdict decides", "30s"),
		kind.Attr{Name: "sign", Type: cty.String, Doc: "file on the hub with the secret for the signature"})
}

func compareAttrs() []kind.Attr {
	return append(askedAttrs("address of Prometheus, without /api/v1/query", "1m"),
		kind.Attr{Name: "query", Type: cty.String, Doc: "expression of PromQL with one value for each target"},
		kind.Attr{Name: "token", Type: cty.String, Doc: "file on the hub with the address and the token for it"},
		kind.Attr{Name: "label", Type: cty.String,
			Doc: "label of the values with the name of the target, or with NAME:PORT; default: instance"},
		kind.Attr{Name: "worse", Type: cty.String, Doc: "values that are worse: higher (default) or lower"},
		kind.Attr{Name: "min_sample", Type: cty.Number,
			Doc: "number of targets with a value that are necessary on each side; default: 5"},
		kind.Attr{Name: "max_ratio", Type: cty.Number, Doc: "factor by which values with the change may be worse"},
		kind.Attr{Name: "margin", Type: cty.Number, Doc: "difference by which values with the change may be worse"},
		kind.Attr{Name: "count", Type: cty.Number, Doc: "number of good comparisons that are necessary; default: 1"})
}

// waitBlocks are the blocks of barriers, signals and organizations.
func waitBlocks() []Block {
	return []Block{
		{Name: "barrier", Label: "name", Doc: "A point at which targets wait until enough members have arrived.",
			Attrs: barrierAttrs(), oneOf: []string{"labels", "targets"}},
		{Name: "signal", Label: "name", Doc: "A named message of a user or a target, for which states wait.",
			Attrs: signalAttrs()},
		{Name: "organization", Label: "path", Doc: "Limits for changes of the targets of an organization.",
			Attrs: organizationAttrs()},
	}
}

func organizationAttrs() []kind.Attr {
	return []kind.Attr{
		{Name: "freeze", Type: cty.String, Doc: "reason of a freeze: the agents of the targets change nothing"},
		{Name: "max_unavailable", Type: cty.DynamicPseudoType,
			Doc: "how many targets rollouts may make unavailable at the same time: a number or a percentage"},
		{Name: "approvals", Type: cty.Number,
			Doc: "number of users who must approve each rollout for the organization, up to 20; default: 0"},
		docAttr(),
	}
}

func barrierAttrs() []kind.Attr {
	return []kind.Attr{
		{Name: "targets", Type: cty.List(cty.String), Doc: "the members: name patterns or /regular expressions/"},
		{Name: "labels", Type: cty.DynamicPseudoType, Doc: "the members: targets with all of these labels"},
		{Name: "quorum", Type: cty.DynamicPseudoType,
			Doc: `how many members must arrive: "all", a number, or a percentage such as "80%"; default: "all"`},
		{Name: "offline_after", Type: cty.String,
			Doc: "time after which a member that is offline does not count, from 1m to 30d; default: it always counts"},
		{Name: "alarm_after", Type: cty.String,
			Doc: "time for which a member waits before an alarm is raised, from 1m to 30d; default: no alarm"},
		docAttr(),
	}
}

func signalAttrs() []kind.Attr {
	return []kind.Attr{
		{Name: "keep", Type: cty.String, Doc: "time for which a signal counts as sent, from 1m to 30d; default: 24h"},
		{Name: "targets", Type: cty.List(cty.String),
			Doc: "the targets that can send: name patterns or /regular expressions/; default: only users"},
		{Name: "labels", Type: cty.DynamicPseudoType, Doc: "the targets that can send: targets with all of these labels"},
		docAttr(),
	}
}
