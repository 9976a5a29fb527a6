package once

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/here"
	"fettle.dev/fettle/internal/fleet/fanout"
	"fettle.dev/fettle/internal/round"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

func copyFrom(ctx context.Context, s *cli.Session, f copyFlags, sources []string, dest string) error {
	for _, src := range sources {
		if !path.IsAbs(src) || path.Clean(src) != src {
			return cli.Refuse("Use an absolute path on the target, such as /etc/motd",
				fmt.Sprintf("cannot copy %q: it is not absolute", src))
		}
	}
	names, err := namesMeant(ctx, s, f.many)
	if err != nil {
		return err
	}
	place := func(target, src string) string {
		switch {
		case s.IsMany():
			return filepath.Join(dest, target, path.Base(src))
		case len(sources) > 1 || strings.HasSuffix(dest, "/"):
			return filepath.Join(dest, path.Base(src))
		}
		return dest
	}
	if f.dryRun {
		cmd := executor.Command{Action: "copy"}
		for _, src := range sources {
			cmd.Argv = append(cmd.Argv, []string{"copy", "--from", src, dest})
		}
		return wouldRun(s.Printer, cmd, names)
	}
	return onEach(ctx, s, f.many, hostTask{doing: "Copying from", verb: "Copied from", looks: true,
		words: map[fanout.Status]string{fanout.OK: "copied"},
		one: func(ctx context.Context, m *cli.Member, x executor.Executor) round.Outcome {
			from, ok := x.(executor.Files)
			if !ok {
				return cli.Failed(errors.New("cannot copy from there: it only accepts step lists"))
			}
			for _, src := range sources {
				if err := here.Fetch(ctx, from, src, place(m.Target, src)); err != nil {
					return cli.Failed(err)
				}
			}
			return round.Outcome{Status: fanout.OK, Line: render.Count(len(sources), "file") + " copied"}
		}})
}
