package cli

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
	"fettle.dev/fettle/internal/ui/render"
)

// namedCall reads a name with its parameters.
func namedCall(words []string) (name string, params map[string]string, err error) {
	params = map[string]string{}
	for _, w := range words[1:] {
		name, value, ok := strings.Cut(w, "=")
		if !ok || name == "" {
			return "", nil, refuse("Write parameters as NAME=VALUE. A program follows --: fettle run -- "+strings.Join(words,
				" "), fmt.Sprintf("cannot read %q as a parameter of the action %q", w, words[0]))
		}
		params[name] = value
	}
	return words[0], params, nil
}

// runNamed runs an action or a command by its name.
func runNamed(ctx context.Context, s *session, f runningFlags, words []string) error {
	name, params, err := namedCall(words)
	if err != nil {
		return err
	}
	if len(f.env) > 0 || f.dir != "" || f.user != "" || f.shell || f.readOnly {
		return refuse("Omit them: the action defines them",
			"cannot use --env, --dir, --user, --shell or --read-only with an action")
	}
	if b := builtin.ActionOf(name); b != nil {
		cmd, err := builtinCall(*b, params, f)
		if err != nil {
			return err
		}
		return runCommand(ctx, s, f, cmd, b.JSON)
	}
	src, err := s.openChosen(ctx)
	if err == nil {
		err = src.none
	}
	if err != nil {
		return err
	}
	command, found, err := find(s.printer, src, name)
	if err == nil {
		err = takeSecrets(s, command, found, params)
	}
	if err == nil && command != nil {
		return runParts(ctx, s, f, src, command, params) // which closes it
	}
	if err == nil {
		err = checkCalled(found, params)
	}
	if err != nil {
		_ = src.repo.Close()
		return err
	}
	if s.isMany() {
		return actionMany(ctx, s, f, src, name, params, found)
	}
	defer func() { _ = src.repo.Close() }()
	return actionOne(ctx, s, f, src, name, params, found)
}

// actionOne runs an action on the one target that is meant.
func actionOne(ctx context.Context, s *session, f runningFlags, src *source, name string, params map[string]string,
	found []query.Declared) error {
	target, err := s.chooseTarget(src)
	if err != nil {
		return err
	}
	if err := onAll(name, found, []string{target}); err != nil {
		return err
	}
	if err := s.connectTarget(ctx, src, target); err != nil {
		return err
	}
	in, err := s.input(ctx, src.tree, target)
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
func actionMany(ctx context.Context, s *session, f runningFlags, src *source, name string, params map[string]string,
	found []query.Declared) error {
	chosen, err := selected(s, src, s.words)
	if err == nil {
		err = onAll(name, found, targetNames(chosen))
	}
	if err != nil {
		_ = src.repo.Close()
		return err
	}
	cr, err := s.targetSetOf(src, f.many, chosen)
	if err != nil {
		return err
	}
	defer cr.close()
	json := !f.dryRun && slices.ContainsFunc(found, func(d query.Declared) bool { return d.JSON })
	return cr.finish("Ran it on", cr.command(ctx, cr.names, json, cr.calls(f, name, params)), ranWords())
}

func targetNames(list []query.Target) []string {
	out := make([]string, 0, len(list))
	for _, t := range list {
		out = append(out, t.Name)
	}
	return out
}

// calls returns the command of an action for each target.
func (cr *targetSet) calls(f runningFlags, name string, params map[string]string) commandOf {
	return func(ctx context.Context, m *member) (executor.Command, *outcome, error) {
		in, err := m.input(ctx, cr.src.tree, m.target)
		if err != nil {
			return executor.Command{}, nil, err
		}
		cmd, _, real, err := actionCommand(m.session, in, f, name, params)
		if err != nil || !f.dryRun || real {
			return cmd, nil, err
		}
		o := outcome{status: fanout.OK, line: "would run", said: true}
		for _, argv := range cmd.Argv {
			o.body += "would run " + render.Escape(wordsText(argv)) + "\n"
		}
		return cmd, &o, nil
	}
}

// callAction may be called by several goroutines.
func callAction(s *printer, q compile.ActionQuery) (compile.ActionCall, diag.List) {
	by := s.app.Language.Parallel
	if by == nil {
		by = s.app.Language.Queries
	}
	return compile.Ask(by, q)
}

// actionCommand is the command of an action; real tells, of a dry run, that it is commands which
// say what the action would do.
func actionCommand(s *session, in compile.Input, f runningFlags, name string,
	params map[string]string) (cmd executor.Command, a query.Action, real bool, err error) {
	in.NeedSecrets = true
	call, ds := callAction(s.printer, compile.ActionQuery{Input: in, Name: name, Params: params, DryRun: f.dryRun})
	if err := ds.Err(); err != nil {
		return cmd, a, false, err
	}
	real = f.dryRun && call.Action.DryRun
	cmd = wanted.Command(call)
	cmd.ReadOnly, cmd.Hide = cmd.ReadOnly || real, s.hideTyped(call.Action.Params, params)
	if f.timeout != executor.DefaultTimeout {
		cmd.Timeout = f.timeout
	}
	return cmd, call.Action, real, nil
}
