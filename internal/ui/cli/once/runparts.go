package once

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/fleet/fanout"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/round"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
	"fettle.dev/fettle/internal/workspace"
)

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
