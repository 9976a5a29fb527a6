package cli

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
	"fettle.dev/fettle/internal/ui/render"
)

// part is a part of a command with the targets that it is for here.
type part struct {
	query.Part
	on      []string // none: -t leaves nothing of them
	options fanout.Options
	json    bool
	fixed   *executor.Command // the same on every target; nil: the action of each
}

// partsDoc describes the effect of a command.
type partsDoc struct {
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
func runParts(ctx context.Context, s *session, f runningFlags, src *source, c *foundCommand,
	params map[string]string) error {
	legs, err := commandParts(s, f, src, c, params)
	if err != nil || f.dryRun {
		_ = src.repo.Close()
		if err != nil {
			return err
		}
		return wouldRunParts(s.printer, c.Name, legs)
	}
	all, err := inventory(s, src)
	if err != nil {
		_ = src.repo.Close()
		return err
	}
	cr, err := s.targetSetOf(src, f.many, slices.DeleteFunc(slices.Clone(all), func(t query.Target) bool {
		return !slices.ContainsFunc(legs, func(l part) bool { return slices.Contains(l.on, t.Name) })
	}))
	if err != nil {
		return err
	}
	defer cr.close()
	return cr.parts(ctx, f, c.Name, legs, s.hideTyped(c.Params, params))
}

// commandParts decides which part runs where, and refuses what cannot run before any target is
// connection.
func commandParts(s *session, f runningFlags, src *source, c *foundCommand, params map[string]string) ([]part, error) {
	switch {
	case s.connectOpts.ssh != "":
		return nil, refuse("Name its targets with -t, or omit --ssh",
			"cannot use --ssh with a command: the command defines where it runs")
	case f.many.batch != "" || f.many.maxFailed != "":
		return nil, refuse("Omit them", "cannot use --batch or --max-failed with a command: its parts define them")
	}
	parts, err := partsOf(s.printer, src, c, params)
	if err != nil {
		return nil, err
	}
	var narrow []string
	if len(s.words) > 0 {
		chosen, err := selected(s, src, s.words)
		if err != nil {
			return nil, err
		}
		narrow = targetNames(chosen)
	}
	hide := s.hideTyped(c.Params, params)
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
		return nil, refuse("See where they run: fettle run --dry-run "+c.Name+" …",
			fmt.Sprintf("cannot run %s on %s: none of its parts selects these targets", c.Name, strings.Join(s.words, ",")))
	}
	return out, nil
}

// inPart names the part that an error is about, with its place.
func inPart(p query.Part, err error) error {
	if p.Range.File == "" {
		return fmt.Errorf("part %q: %w", p.Name, err)
	}
	return fmt.Errorf("%s: part %q: %w", placeText(p.Range), p.Name, err)
}

// partsOf returns the parts of a command, with the values of its parameters.
func partsOf(s *printer, src *source, c *foundCommand, params map[string]string) ([]query.Part, error) {
	if c.builtin != nil {
		if err := query.CheckParams(fmt.Sprintf("the command %q", c.Name), c.Name, c.Params, params).Err(); err != nil {
			return nil, err
		}
		return c.builtin.Run(builtin.ValuesOf(c.Params, params)), nil
	}
	parts, ds := compile.Ask(s.app.Language.Queries,
		compile.CommandQuery{About: src.about(), Name: c.Name, Params: params})
	return parts, ds.Err()
}

func runPart(s *session, f runningFlags, src *source, p query.Part, narrow, hide []string) (part, error) {
	l := part{Part: p}
	var err error
	many := f.many
	many.batch, many.maxFailed = p.Batch, p.MaxFailed
	if l.options, err = many.options(); err != nil {
		return l, err
	}
	switch {
	case len(p.Targets) == 0 && len(narrow) == 0:
		return l, refuse("Name targets: -t TARGET. To run something on this host only, run its action: fettle run --list",
			"cannot determine where it runs: neither the command nor -t names targets")
	case len(p.Targets) == 0:
		l.on = narrow
	default:
		chosen, err := selected(s, src, p.Targets)
		if err != nil {
			return l, err
		}
		l.on = slices.DeleteFunc(targetNames(chosen),
			func(t string) bool { return narrow != nil && !slices.Contains(narrow, t) })
	}
	if p.Action == "" {
		l.fixed = &executor.Command{Argv: p.Argv, Env: p.Env, Dir: p.Dir, User: p.User, Timeout: f.timeout,
			ReadOnly: p.ReadOnly, Hide: hide}
		if p.Timeout > 0 && f.timeout == executor.DefaultTimeout {
			l.fixed.Timeout = p.Timeout
		}
		return l, nil
	}
	return l, partAction(s.printer, f, src, &l)
}

// partAction finds the action of a part on all of its targets.
func partAction(s *printer, f runningFlags, src *source, l *part) error {
	if b := builtin.ActionOf(l.Action); b != nil {
		if err := mayHide(b.Action, l.Secret); err != nil {
			return err
		}
		cmd, err := builtinCall(*b, l.Params, f)
		l.fixed, l.json = &cmd, b.JSON
		return err
	}
	_, found, err := find(s, src, l.Action)
	if err != nil {
		return err
	}
	for _, d := range found {
		if err := mayHide(d.Action, l.Secret); err != nil {
			return err
		}
		l.json = l.json || d.JSON
	}
	if err := checkCalled(found, l.Params); err != nil {
		return err
	}
	return onAll(l.Action, found, l.on)
}

// mayHide refuses to hand what was typed as a secret to a parameter that is shown.
func mayHide(a query.Action, secret []string) error {
	for _, p := range a.Params {
		if slices.Contains(secret, p.Name) && !p.Secret {
			return refuse(fmt.Sprintf("Set secret = true in the param %q of the action", p.Name),
				fmt.Sprintf("cannot pass a secret to the action %q: its parameter %q is not secret", a.Name, p.Name))
		}
	}
	return nil
}

// parts runs one part after the other, until one fails on more targets than it may.
func (cr *targetSet) parts(ctx context.Context, f runningFlags, name string, legs []part, hide []string) error {
	total := map[string]outcome{}
	ended := ""
	for i, l := range legs {
		title := fmt.Sprintf("Part %d of %d, %s", i+1, len(legs), l.Name)
		if len(l.on) == 0 {
			cr.s.printf("%s: on none of the selected targets\n", title)
			continue
		}
		cr.s.printf("%s: %s\n", title, l.what())
		cr.options, cr.part = l.options, l.Name
		got := cr.command(ctx, l.on, l.json, cr.commandsOf(f, l, hide))
		showGroups(cr.s, got, ranWords())
		for t, o := range got {
			total[t] = worse(total[t], o)
		}
		if ended = l.failed(got, cr.stopped); ended == "" && ctx.Err() != nil {
			ended = "it was interrupted"
		}
		if ended != "" {
			ended = fmt.Sprintf("cannot continue with %s after part %d of %d, %s: %s", name, i+1, len(legs), l.Name, ended)
			break
		}
	}
	return cr.endOfParts(name, total, ended)
}

func (cr *targetSet) commandsOf(f runningFlags, l part, hide []string) commandOf {
	of := cr.calls(f, l.Action, l.Params)
	if l.fixed != nil {
		of = always(*l.fixed)
	}
	return func(ctx context.Context, m *member) (executor.Command, *outcome, error) {
		cmd, o, err := of(ctx, m)
		cmd.Hide = slices.Concat(cmd.Hide, hide)
		return cmd, o, err
	}
}

// failed says why no further part begins; "" where one may.
func (l part) failed(got map[string]outcome, stopped string) string {
	bad := 0
	for _, o := range got {
		if o.status == fanout.Failed || o.status == fanout.Unreachable {
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

// worse returns the outcome that needs more attention.
func worse(a, b outcome) outcome {
	order := statusOrder()
	if slices.Index(order, a.status) > slices.Index(order, b.status) {
		return a
	}
	return b
}

// endOfParts keeps what became of the targets, and says how the command ended.
func (cr *targetSet) endOfParts(name string, total map[string]outcome, ended string) error {
	err := exitOf(total)
	if err == nil && ended != "" {
		err = errors.New(ended)
	}
	cr.showWarned()
	remember(cr.s, cr.src, total)
	became := map[string]string{}
	for t, o := range total {
		became[t] = o.status.String()
	}
	cr.s.note(became)
	showCounts(cr.s.printer, "Ran "+name+" on", total, ranWords(), err)
	if ended != "" {
		cr.s.fail(errors.New(ended))
	}
	return reported(err)
}

// what describes the command of a part and its targets.
func (l part) what() string {
	text := render.Count(len(l.on), "target") + ", " + someNames(l.on) + ": "
	if l.Action == "" {
		var lines []string
		for _, argv := range l.Argv {
			lines = append(lines, wordsText(argv))
		}
		return render.Escape(text + strings.Join(lines, "; "))
	}
	text += l.Action
	shown := l.shown()
	for _, name := range sortedNames(shown) {
		text += " " + wordsText([]string{name + "=" + shown[name]})
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

func wouldRunParts(s *printer, name string, legs []part) error {
	doc := partsDoc{Format: "fettle.parts/1", Command: name, Parts: []partDoc{}}
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
		s.printf("Part %d of %d, %s%s, would run on %s\n", i+1, len(legs), l.Name, limits, l.what())
	}
	if s.json {
		return s.document(doc)
	}
	return nil
}
