package once

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/fleet/fanout"
	"fettle.dev/fettle/internal/lang/builtin"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/round"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
	"fettle.dev/fettle/internal/workspace"
)

// part is a part of a command with the targets that it is for here.
type part struct {
	query.Part
	on      []string // none: -t leaves nothing of them
	options fanout.Options
	json    bool
	fixed   *executor.Command // the same on every target; nil: the action of each
}

// PartsDoc describes the effect of a command.
type PartsDoc struct {
	Format  string    `json:"format"` // fettle.parts/1
	Command string    `json:"command"`
	Parts   []partDoc `json:"parts"`
}

type partDoc struct {
	Name      string            `json:"name"`
	Action    string            `json:"action,omitempty"`
	Params    map[string]string `json:"params,omitempty"` // without what is secret
	Argv      [][]string        `json:"argv,omitempty"`
	Targets   []string          `json:"targets"`
	Batch     string            `json:"batch,omitempty"`
	MaxFailed string            `json:"max_failed"`
}

// runParts runs a command of an open repository, which it closes.
func runParts(ctx context.Context, s *cli.Session, f RunningFlags, src *workspace.Source, c *foundCommand,
	params map[string]string) error {
	legs, err := commandParts(s, f, src, c, params)
	if err != nil || f.dryRun {
		_ = src.Repo.Close()
		if err != nil {
			return err
		}
		return wouldRunParts(s.Printer, c.Name, legs)
	}
	all, err := cli.Inventory(s, src)
	if err != nil {
		_ = src.Repo.Close()
		return err
	}
	cr, err := s.TargetSetOf(src, f.many, slices.DeleteFunc(slices.Clone(all), func(t query.Target) bool {
		return !slices.ContainsFunc(legs, func(l part) bool { return slices.Contains(l.on, t.Name) })
	}))
	if err != nil {
		return err
	}
	defer cr.Close()
	return runEachPart(ctx, cr, f, c.Name, legs, s.HideTyped(c.Params, params))
}

// commandParts decides which part runs where, and refuses what cannot run before any target is
// connection.
func commandParts(s *cli.Session, f RunningFlags, src *workspace.Source, c *foundCommand,
	params map[string]string) ([]part, error) {
	switch {
	case s.ConnectOpts.SSH != "":
		return nil, cli.Refuse("Name its targets with -t, or omit --ssh",
			"cannot use --ssh with a command: the command defines where it runs")
	case f.many.Batch != "" || f.many.MaxFailed != "":
		return nil, cli.Refuse("Omit them", "cannot use --batch or --max-failed with a command: its parts define them")
	}
	parts, err := partsOf(s.Printer, src, c, params)
	if err != nil {
		return nil, err
	}
	var narrow []string
	if len(s.Words) > 0 {
		chosen, err := cli.Selected(s, src, s.Words)
		if err != nil {
			return nil, err
		}
		narrow = cli.TargetNames(chosen)
	}
	hide := s.HideTyped(c.Params, params)
	var out []part
	some := false
	for _, p := range parts {
		l, err := runPart(s, f, src, p, narrow, hide)
		if err != nil {
			return nil, inPart(p, err)
		}
		some = some || len(l.on) > 0
		out = append(out, l)
	}
	if !some {
		return nil, cli.Refuse("See where they run: fettle run --dry-run "+c.Name+" …",
			fmt.Sprintf("cannot run %s on %s: none of its parts selects these targets", c.Name, strings.Join(s.Words, ",")))
	}
	return out, nil
}

// inPart names the part that an error is about, with its place.
func inPart(p query.Part, err error) error {
	if p.Range.File == "" {
		return fmt.Errorf("part %q: %w", p.Name, err)
	}
	return fmt.Errorf("%s: part %q: %w", cli.PlaceText(p.Range), p.Name, err)
}

// partsOf returns the parts of a command, with the values of its parameters.
func partsOf(s *cli.Printer, src *workspace.Source, c *foundCommand, params map[string]string) ([]query.Part, error) {
	if c.builtin != nil {
		if err := query.CheckParams(fmt.Sprintf("the command %q", c.Name), c.Name, c.Params, params).Err(); err != nil {
			return nil, err
		}
		return c.builtin.Run(builtin.ValuesOf(c.Params, params)), nil
	}
	parts, ds := compile.Ask(s.App.Language.Queries,
		compile.CommandQuery{About: src.About(), Name: c.Name, Params: params})
	return parts, ds.Err()
}

func runPart(s *cli.Session, f RunningFlags, src *workspace.Source, p query.Part, narrow, hide []string) (part, error) {
	l := part{Part: p}
	var err error
	many := f.many
	many.Batch, many.MaxFailed = p.Batch, p.MaxFailed
	if l.options, err = many.Options(); err != nil {
		return l, err
	}
	switch {
	case len(p.Targets) == 0 && len(narrow) == 0:
		return l, cli.Refuse("Name targets: -t TARGET. To run something on this host only, run its action: fettle run --list",
			"cannot determine where it runs: neither the command nor -t names targets")
	case len(p.Targets) == 0:
		l.on = narrow
	default:
		chosen, err := cli.Selected(s, src, p.Targets)
		if err != nil {
			return l, err
		}
		l.on = slices.DeleteFunc(cli.TargetNames(chosen),
			func(t string) bool { return narrow != nil && !slices.Contains(narrow, t) })
	}
	if p.Action == "" {
		l.fixed = &executor.Command{Argv: p.Argv, Env: p.Env, Dir: p.Dir, User: p.User, Timeout: f.Timeout,
			ReadOnly: p.ReadOnly, Hide: hide}
		if p.Timeout > 0 && f.Timeout == executor.DefaultTimeout {
			l.fixed.Timeout = p.Timeout
		}
		return l, nil
	}
	return l, partAction(s.Printer, f, src, &l)
}

// partAction finds the action of a part on all of its targets.
func partAction(s *cli.Printer, f RunningFlags, src *workspace.Source, l *part) error {
	if b := builtin.ActionOf(l.Action); b != nil {
		if err := mayHide(b.Action, l.Secret); err != nil {
			return err
		}
		cmd, err := builtinCall(*b, l.Params, f)
		l.fixed, l.json = &cmd, b.JSON
		return err
	}
	_, found, err := Find(s, src, l.Action)
	if err != nil {
		return err
	}
	for _, d := range found {
		if err := mayHide(d.Action, l.Secret); err != nil {
			return err
		}
		l.json = l.json || d.JSON
	}
	if err := CheckCalled(found, l.Params); err != nil {
		return err
	}
	return onAll(l.Action, found, l.on)
}

// mayHide refuses to hand what was typed as a secret to a parameter that is shown.
func mayHide(a query.Action, secret []string) error {
	for _, p := range a.Params {
		if slices.Contains(secret, p.Name) && !p.Secret {
			return cli.Refuse(fmt.Sprintf("Set secret = true in the param %q of the action", p.Name),
				fmt.Sprintf("cannot pass a secret to the action %q: its parameter %q is not secret", a.Name, p.Name))
		}
	}
	return nil
}

// runEachPart runs one part after the other, until one fails on more targets than it may.
func runEachPart(ctx context.Context, cr *cli.TargetSet, f RunningFlags, name string, legs []part,
	hide []string) error {
	total := map[string]round.Outcome{}
	ended := ""
	for i, l := range legs {
		title := fmt.Sprintf("Part %d of %d, %s", i+1, len(legs), l.Name)
		if len(l.on) == 0 {
			cr.Session.Printf("%s: on none of the selected targets\n", title)
			continue
		}
		cr.Session.Printf("%s: %s\n", title, l.describe())
		cr.Options, cr.Part = l.options, l.Name
		got := commandEach(ctx, cr, l.on, l.json, commandsOf(cr, f, l, hide))
		cli.ShowGroups(cr.Session, got, ranWords())
		for t, o := range got {
			total[t] = round.Worse(total[t], o)
		}
		if ended = l.failed(got, cr.Stopped); ended == "" && ctx.Err() != nil {
			ended = "it was interrupted"
		}
		if ended != "" {
			ended = fmt.Sprintf("cannot continue with %s after part %d of %d, %s: %s", name, i+1, len(legs), l.Name, ended)
			break
		}
	}
	return endOfParts(cr, name, total, ended)
}

func commandsOf(cr *cli.TargetSet, f RunningFlags, l part, hide []string) commandOf {
	of := callsOf(cr, f, l.Action, l.Params)
	if l.fixed != nil {
		of = always(*l.fixed)
	}
	return func(ctx context.Context, m *cli.Member) (executor.Command, *round.Outcome, error) {
		cmd, o, err := of(ctx, m)
		cmd.Hide = slices.Concat(cmd.Hide, hide)
		return cmd, o, err
	}
}

// failed says why no further part begins; "" where one may.
func (l part) failed(got map[string]round.Outcome, stopped string) string {
	bad := 0
	for _, o := range got {
		if o.Status == fanout.Failed || o.Status == fanout.Unreachable {
			bad++
		}
	}
	switch {
	case l.options.MaxFailed != nil && bad > l.options.MaxFailed.Of(len(l.on)):
		return fmt.Sprintf("it failed on %s", render.Count(bad, "target"))
	case stopped != "":
		return stopped
	}
	return ""
}

// endOfParts keeps what became of the targets, and says how the command ended.
func endOfParts(cr *cli.TargetSet, name string, total map[string]round.Outcome, ended string) error {
	err := cli.ExitOf(total)
	if err == nil && ended != "" {
		err = errors.New(ended)
	}
	cr.ShowWarned()
	cli.Remember(cr.Session, cr.Source, total)
	cli.ShowCounts(cr.Session.Printer, "Ran "+name+" on", total, ranWords(), err)
	if ended != "" {
		cr.Session.Fail(errors.New(ended))
	}
	return cli.Reported(err)
}

// describe returns a description of a part: its targets and its command.
func (l part) describe() string {
	text := render.Count(len(l.on), "target") + ", " + SomeNames(l.on) + ": "
	if l.Action == "" {
		var lines []string
		for _, argv := range l.Argv {
			lines = append(lines, cli.WordsText(argv))
		}
		return render.Escape(text + strings.Join(lines, "; "))
	}
	text += l.Action
	shown := l.shown()
	for _, name := range cli.SortedNames(shown) {
		text += " " + cli.WordsText([]string{name + "=" + shown[name]})
	}
	return render.Escape(text)
}

// shown returns the parameters of the action, with masked secrets.
func (l part) shown() map[string]string {
	out := map[string]string{}
	for name, value := range l.Params {
		if out[name] = value; slices.Contains(l.Secret, name) {
			out[name] = "…"
		}
	}
	return out
}

func wouldRunParts(s *cli.Printer, name string, legs []part) error {
	doc := PartsDoc{Format: "fettle.parts/1", Command: name, Parts: []partDoc{}}
	for i, l := range legs {
		doc.Parts = append(doc.Parts, partDoc{l.Name, l.Action, l.shown(), l.Argv, slices.Concat([]string{}, l.on), l.Batch,
			l.MaxFailed})
		limits := ""
		if l.Batch != "" {
			limits += ", batch " + l.Batch
		}
		if l.MaxFailed != "0" {
			limits += ", at most " + l.MaxFailed + " failed"
		}
		s.Printf("Part %d of %d, %s%s, would run on %s\n", i+1, len(legs), l.Name, limits, l.describe())
	}
	if s.JSON {
		return s.Document(doc)
	}
	return nil
}
