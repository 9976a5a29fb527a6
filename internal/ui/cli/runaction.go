package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/fleet/fanout"
	"fettle.dev/fettle/internal/ui/render"
)

// actionsDoc lists the actions of a target.
type actionsDoc struct {
	Format  string      `json:"format"` // fettle.actions/1
	Target  string      `json:"target"`
	Actions []actionDoc `json:"actions"`
}

type actionDoc struct {
	Name    string     `json:"name"`
	Module  string     `json:"module,omitempty"`
	Doc     string     `json:"doc,omitempty"`
	Changes bool       `json:"changes"`
	DryRun  bool       `json:"dry_run"`
	Params  []paramDoc `json:"params"`
	Source  string     `json:"source"`
}

type paramDoc struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Doc      string `json:"doc,omitempty"`
	Required bool   `json:"required,omitempty"`
	Default  string `json:"default,omitempty"` // as JSON
}

// runAction runs an action that the repository declares.
func (s *session) runAction(ctx context.Context, f runningFlags, words []string) error {
	params := map[string]string{}
	for _, w := range words[1:] {
		name, value, ok := strings.Cut(w, "=")
		if !ok || name == "" {
			return refuse("Write parameters as NAME=VALUE; a program stands behind --: fettle run -- "+strings.Join(words, " "), fmt.Sprintf("cannot read %q as a parameter of the action %q", w, words[0]))
		}
		params[name] = value
	}
	if len(f.env) > 0 || f.dir != "" || f.user != "" || f.shell || f.looks {
		return refuse("Leave them out: the action says that itself", "cannot use --env, --dir, --user, --shell or --looks with an action")
	}
	if cmd, ok, err := builtin(words[0], params, f); ok || err != nil {
		if err != nil {
			return err
		}
		return s.runCommand(ctx, f, cmd)
	}
	if s.isMany() {
		return s.actionMany(ctx, f, words[0], params)
	}
	return s.inOne(ctx, func(in compile.Input) error {
		cmd, real, err := s.call(in, f, words[0], params)
		if err != nil {
			return err
		}
		f.dryRun = f.dryRun && !real
		return s.runOne(ctx, f, cmd)
	})
}

// inOne compiles for the one target that is meant.
func (s *session) inOne(ctx context.Context, do func(compile.Input) error) error {
	src, err := s.openSource(ctx, s.rev)
	if err != nil {
		return err
	}
	defer func() { _ = src.repo.Close() }()
	target, err := s.chooseTarget(src)
	if err != nil {
		return err
	}
	if err := s.reachTarget(ctx, src, target); err != nil {
		return err
	}
	in, err := s.input(ctx, src.tree, target)
	if err != nil {
		return err
	}
	in.NeedSecrets = true
	return do(in)
}

func (s *session) actionMany(ctx context.Context, f runningFlags, name string, params map[string]string) error {
	cr, err := s.crowd(ctx, f.many)
	if err != nil {
		return err
	}
	defer cr.close()
	return cr.command(ctx, func(ctx context.Context, m *member) (executor.Command, *outcome, error) {
		in, err := m.input(ctx, cr.src.tree, m.target)
		if err != nil {
			return executor.Command{}, nil, err
		}
		in.NeedSecrets = true
		cmd, real, err := m.call(in, f, name, params)
		if err != nil || !f.dryRun || real {
			return cmd, nil, err
		}
		o := outcome{status: fanout.OK, line: "would run", said: true}
		for _, argv := range cmd.Argv {
			o.body += "would run " + render.Escape(wordsText(argv)) + "\n"
		}
		return cmd, &o, nil
	})
}

// call is the command of an action; real tells, of a dry run, that it is commands which
// say what the action would do.
func (s *session) call(in compile.Input, f runningFlags, name string, params map[string]string) (cmd executor.Command, real bool, err error) {
	if s.app.Language.CallAction == nil {
		return cmd, false, errors.New("cannot run actions: this fettle knows none")
	}
	call, ds := s.app.Language.CallAction(in, name, params, f.dryRun)
	if err := ds.Err(); err != nil {
		return cmd, false, err
	}
	real = f.dryRun && call.Action.DryRun
	cmd = executor.Command{Action: call.Action.ID(), Looks: real || !call.Action.Changes, Secrets: call.Result.Secrets, Sealed: map[string][]byte{}}
	for _, st := range call.Result.List {
		cmd.Argv = append(cmd.Argv, st.Args[1:])
		cmd.Env, cmd.Dir, cmd.User = st.All("env"), st.Get("cwd"), st.Get("user")
		d, err := time.ParseDuration(st.Get("timeout"))
		if err != nil || d <= 0 {
			d = executor.DefaultTimeout
		}
		cmd.Timeout += d
		for _, digest := range st.Blobs() {
			cmd.Sealed[digest] = call.Result.Blobs[digest].Data
		}
	}
	if f.timeout != executor.DefaultTimeout {
		cmd.Timeout = f.timeout
	}
	return cmd, real, nil
}

// listActions tells what a target can be asked to do.
func (s *session) listActions(ctx context.Context) error {
	if s.app.Language.Actions == nil {
		return errors.New("cannot list actions: this fettle knows none")
	}
	return s.inOne(ctx, func(in compile.Input) error {
		list, ds := s.app.Language.Actions(in)
		if err := ds.Err(); err != nil {
			return err
		}
		doc := actionsDoc{Format: "fettle.actions/1", Target: in.Target, Actions: []actionDoc{}}
		var rows [][]string
		for _, b := range builtinActions() {
			list = append(list, b.Action)
		}
		for _, a := range list {
			d := actionDoc{Name: a.Name, Module: a.Module, Doc: a.Doc, Changes: a.Changes, DryRun: a.DryRun, Params: []paramDoc{}, Source: builtIn}
			if a.Range.File != "" {
				d.Source = placeText(a.Range)
			}
			var words []string
			for _, p := range a.Params {
				d.Params = append(d.Params, paramDoc(p))
				words = append(words, p.Name+"="+orDots(p.Default))
			}
			doc.Actions = append(doc.Actions, d)
			rows = append(rows, []string{a.ID(), strings.Join(words, " "), a.Doc})
		}
		if s.json {
			return s.document(doc)
		}
		s.style().Table(s.app.Stdout, []string{"ACTION", "PARAMETERS", ""}, rows)
		return nil
	})
}

// builtIn is the source of an action that no repository declares.
const builtIn = "built in"

// orDots stands for a value that has to be given.
func orDots(text string) string {
	if text == "" {
		return "…"
	}
	return text
}
