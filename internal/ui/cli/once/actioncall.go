package once

import (
	"context"
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/wanted"
	"fettle.dev/fettle/internal/fleet/fanout"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/round"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

// NamedCall reads a name with its parameters.
func NamedCall(words []string) (name string, params map[string]string, err error) {
	params = map[string]string{}
	for _, w := range words[1:] {
		name, value, ok := strings.Cut(w, "=")
		if !ok || name == "" {
			return "", nil, cli.Refuse("Write parameters as NAME=VALUE. A program follows --: fettle run -- "+strings.Join(words,
				" "), fmt.Sprintf("cannot read %q as a parameter of the action %q", w, words[0]))
		}
		params[name] = value
	}
	return words[0], params, nil
}

// callsOf returns the command of an action for each target.
func callsOf(cr *cli.TargetSet, f RunningFlags, name string, params map[string]string) commandOf {
	return func(ctx context.Context, m *cli.Member) (executor.Command, *round.Outcome, error) {
		in, err := m.Input(ctx, cr.Source.Tree, m.Target)
		if err != nil {
			return executor.Command{}, nil, err
		}
		cmd, _, real, err := actionCommand(m.Session, in, f, name, params)
		if err != nil || !f.dryRun || real {
			return cmd, nil, err
		}
		o := round.Outcome{Status: fanout.OK, Line: "would run", Said: true}
		for _, argv := range cmd.Argv {
			o.Body += "would run " + render.Escape(cli.WordsText(argv)) + "\n"
		}
		if len(cmd.Locks) > 0 {
			o.Body += "needs a slot of " + strings.Join(cmd.Locks, ", ") + "\n"
		}
		return cmd, &o, nil
	}
}

// CallAction may be called by several goroutines.
func CallAction(s *cli.Printer, q compile.ActionQuery) (compile.ActionCall, diag.List) {
	by := s.App.Language.Parallel
	if by == nil {
		by = s.App.Language.Queries
	}
	return compile.Ask(by, q)
}

// actionCommand is the command of an action; real tells, of a dry run, that it is commands which
// say what the action would do.
func actionCommand(s *cli.Session, in compile.Input, f RunningFlags, name string,
	params map[string]string) (cmd executor.Command, a query.Action, real bool, err error) {
	in.NeedSecrets = true
	call, ds := CallAction(s.Printer, compile.ActionQuery{Input: in, Name: name, Params: params, DryRun: f.dryRun})
	if err := ds.Err(); err != nil {
		return cmd, a, false, err
	}
	real = f.dryRun && call.Action.DryRun
	cmd = wanted.Command(call)
	cmd.ReadOnly, cmd.Hide = cmd.ReadOnly || real, s.HideTyped(call.Action.Params, params)
	if real {
		cmd.Locks = nil // it changes nothing
	}
	if f.Timeout != executor.DefaultTimeout {
		cmd.Timeout = f.Timeout
	}
	return cmd, call.Action, real, nil
}
