package once

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/wanted"
	"fettle.dev/fettle/internal/fleet/fanout"
	"fettle.dev/fettle/internal/lang/builtin"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/round"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
	"fettle.dev/fettle/internal/workspace"
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

// runNamed runs an action or a command by its name.
func runNamed(ctx context.Context, s *cli.Session, f RunningFlags, words []string) error {
	name, params, err := NamedCall(words)
	if err != nil {
		return err
	}
	if len(f.env) > 0 || f.Dir != "" || f.User != "" || f.Shell || f.ReadOnly {
		return cli.Refuse("Omit them: the action defines them",
			"cannot use --env, --dir, --user, --shell or --read-only with an action")
	}
	if b := builtin.ActionOf(name); b != nil {
		cmd, err := builtinCall(*b, params, f)
		if err != nil {
			return err
		}
		return runCommand(ctx, s, f, cmd, b.JSON)
	}
	src, err := s.HubAccess.Open(ctx)
	if err == nil {
		err = src.None
	}
	if err != nil {
		return err
	}
	command, found, err := Find(s.Printer, src, name)
	if err == nil {
		err = takeSecrets(s, command, found, params)
	}
	if err == nil && command != nil {
		return runParts(ctx, s, f, src, command, params) // which closes it
	}
	if err == nil {
		err = CheckCalled(found, params)
	}
	if err != nil {
		_ = src.Repo.Close()
		return err
	}
	if s.IsMany() {
		return actionMany(ctx, s, f, src, name, params, found)
	}
	defer func() { _ = src.Repo.Close() }()
	return actionOne(ctx, s, f, src, name, params, found)
}

// actionOne runs an action on the one target that is meant.
func actionOne(ctx context.Context, s *cli.Session, f RunningFlags, src *workspace.Source, name string,
	params map[string]string,
	found []query.Declared) error {
	target, err := s.ChooseTarget(src)
	if err != nil {
		return err
	}
	if err := onAll(name, found, []string{target}); err != nil {
		return err
	}
	if err := s.ConnectTarget(ctx, src, target); err != nil {
		return err
	}
	in, err := s.Input(ctx, src.Tree, target)
	if err != nil {
		return err
	}
	cmd, a, real, err := actionCommand(s, in, f, name, params)
	if err != nil {
		return err
	}
	f.dryRun = f.dryRun && !real
	return runOne(ctx, s, f, cmd, a.JSON && !real)
}

// actionMany runs an action on many targets of a repository, which it closes.
func actionMany(ctx context.Context, s *cli.Session, f RunningFlags, src *workspace.Source, name string,
	params map[string]string,
	found []query.Declared) error {
	chosen, err := cli.Selected(s, src, s.Words)
	if err == nil {
		err = onAll(name, found, cli.TargetNames(chosen))
	}
	if err != nil {
		_ = src.Repo.Close()
		return err
	}
	cr, err := s.TargetSetOf(src, f.many, chosen)
	if err != nil {
		return err
	}
	defer cr.Close()
	json := !f.dryRun && slices.ContainsFunc(found, func(d query.Declared) bool { return d.JSON })
	return cr.Finish("Ran it on", commandEach(ctx, cr, cr.Names, json, callsOf(cr, f, name, params)), ranWords())
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
	if f.Timeout != executor.DefaultTimeout {
		cmd.Timeout = f.Timeout
	}
	return cmd, call.Action, real, nil
}
