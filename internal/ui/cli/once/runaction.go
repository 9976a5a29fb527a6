package once

import (
	"context"
	"slices"

	"fettle.dev/fettle/internal/lang/builtin"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/workspace"
)

// runNamed runs an action or a command by its name.
func runNamed(ctx context.Context, s *cli.Session, f RunningFlags, words []string) error {
	name, params, err := NamedCall(words)
	if err != nil {
		return err
	}
	if len(f.env) > 0 || f.Dir != "" || f.User != "" || f.Shell || f.ReadOnly || len(f.locks) > 0 {
		return cli.Refuse("Omit them: the action defines them",
			"cannot use --env, --dir, --user, --shell, --read-only or --lock with an action")
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
