package agent_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent"
	"fettle.dev/fettle/internal/fleet/agent/machine"
	"fettle.dev/fettle/internal/fleet/content"
)

func TestCommandPolicy(t *testing.T) {
	for text, want := range map[string]agent.CommandPolicy{
		"":                      agent.AllCommands,
		"# nothing\n\n":         agent.AllCommands,
		`commands = "all"`:      agent.AllCommands,
		"commands=\"read\"\n":   agent.ReadCommands,
		"  commands = \"none\"": agent.NoCommands,
		`commands = "signed"`:   agent.SignedCommands,
	} {
		if c, err := agent.ParseConf(text); err != nil || c != (agent.Conf{Commands: want,
			Descent: content.Descent{Return: content.ReturnTime}}) {
			t.Errorf("%q: %+v, %v", text, c, err)
		}
	}
	for text, want := range map[string]content.Descent{
		"require_every_commit_signed = true":                         {Signed: true, Return: content.ReturnTime},
		"# reviewed\n require_descent=true\n":                        {Descends: true},
		"require_descent = true\nrequire_every_commit_signed = true": {Signed: true, Descends: true},
		"require_descent = false":                                    {Return: content.ReturnTime},
		"return_within = \"0\"":                                      {},
		"return_within=\"1d12h\"":                                    {Return: 36 * time.Hour},
		"return_within = \"12h\"\nrequire_descent = true":            {Descends: true, Return: 12 * time.Hour},
	} {
		if c, err := agent.ParseConf(text); err != nil || c != (agent.Conf{Commands: agent.AllCommands, Descent: want}) {
			t.Errorf("%q: %+v, %v", text, c, err)
		}
	}
	for text, want := range map[string]string{
		"commands = none":                                "agent.conf:1",
		`commands = "some"`:                              `"none", "read", "signed" or "all"`,
		`commands = ""`:                                  `"none", "read", "signed" or "all"`,
		`commands = ""all""`:                             `"none", "read", "signed" or "all"`,
		"\ncommand = \"none\"":                           "agent.conf:2: unknown setting; the settings are commands, require_every_commit_signed, require_descent and return_within",
		"require_descent = \"true\"":                     "agent.conf:1: require_descent must be true or false",
		"return_within = 12h":                            `agent.conf:1: return_within must be a time from "0" to "30d"`,
		`return_within = "31d"`:                          "agent.conf:1: return_within must be a time",
		`return_within = "soon"`:                         "agent.conf:1: return_within must be a time",
		"require_descent":                                "agent.conf:1: require_descent must be true or false",
		"require_descent = true\nrequire_descent = true": "agent.conf:2: require_descent is set twice",
		"commands = \"none\"\ncommands = \"all\"":        "twice",
		"commands = \"all\"\ncommands = \"none\"":        "twice",
		`commands = "none" # as long as it needs`:        `"none", "read", "signed" or "all"`,
	} {
		if c, err := agent.ParseConf(text); err == nil || !strings.Contains(err.Error(), want) ||
			c != (agent.Conf{Commands: agent.NoCommands}) {
			t.Errorf("%q: %+v, %v", text, c, err)
		}
	}
	if agent.AllCommands.Refuses() != nil || agent.ReadCommands.Refuses() == nil || agent.NoCommands.Refuses() == nil ||
		!errors.Is(agent.SignedCommands.Refuses(), wire.ErrUnsigned) ||
		errors.Is(agent.ReadCommands.Refuses(), wire.ErrUnsigned) || agent.CommandPolicy("").Refuses() == nil {
		t.Error("a policy refuses too little or too much")
	}
}

// TestJobsThatTheHostRefuses: a job with a command is refused before the executor is opened.
func TestJobsThatTheHostRefuses(t *testing.T) {
	for _, c := range []fleet.Command{{Argv: []string{"id"}}, {Argv: []string{"id"}, ReadOnly: true},
		{Action: "service-restart"}} {
		r := &agent.Runner{Admit: func(fleet.Job) (agent.Admission, error) {
			return agent.Admission{},
				errors.New("this host refuses it")
		}}
		out := r.Command(t.Context(), machine.RunJob{Job: fleet.Job{ID: "1", What: fleet.JobRun, Run: &c}})
		if out.Answer.Error != "this host refuses it" || out.Answer.Result != nil {
			t.Errorf("%+v: %+v", c, out.Answer)
		}
	}
}
