package once

import (
	"fmt"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/fleet/fanout"
	"fettle.dev/fettle/internal/lang/builtin"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/ui/cli"
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

// mayHide returns an error if a secret value would be passed to a parameter that is shown.
func mayHide(a query.Action, secret []string) error {
	for _, p := range a.Params {
		if slices.Contains(secret, p.Name) && !p.Secret {
			return cli.Refuse(fmt.Sprintf("Set secret = true in the param %q of the action", p.Name),
				fmt.Sprintf("cannot pass a secret to the action %q: its parameter %q is not secret", a.Name, p.Name))
		}
	}
	return nil
}
