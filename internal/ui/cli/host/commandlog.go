package host

import (
	"context"
	"fmt"
	"slices"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/ui/cli"
)

// history is the list of runs and commands of a machine, newest first.
type history struct {
	runs     []journal.RunInfo
	commands []journal.Command
}

func historyOf(ctx context.Context, x executor.Executor, limit int) (h history, left int, err error) {
	if h.runs, err = x.Runs(ctx); err != nil {
		return h, 0, err
	}
	if cx, ok := x.(executor.Commander); ok {
		if h.commands, err = cx.Commands(ctx); err != nil {
			return h, 0, err
		}
	}
	h.runs = cli.NewestFirst(h.runs)
	slices.Reverse(h.commands)
	all := len(h.runs) + len(h.commands)
	if limit > 0 && all > limit {
		left = all - limit
		h = h.first(limit)
	}
	return h, left, nil
}

// first are the newest so many of both.
func (h history) first(n int) history {
	runs, commands := 0, 0
	for range n {
		if commands == len(h.commands) || runs < len(h.runs) && h.runs[runs].Started >= h.commands[commands].Started {
			runs++
		} else {
			commands++
		}
	}
	return history{h.runs[:runs], h.commands[:commands]}
}

// showCommand shows one command with the end of its output.
func showCommand(ctx context.Context, s *cli.Printer, x executor.Executor, id int) error {
	h, _, err := historyOf(ctx, x, 0)
	if err != nil {
		return err
	}
	for _, c := range h.commands {
		if c.ID != id {
			continue
		}
		if s.JSON {
			doc := ranJSON(c)
			doc.Format, doc.Stdout, doc.Stderr = "fettle.ran/2", c.Stdout, c.Stderr
			return s.Document(doc)
		}
		printCommand(s, c)
		return nil
	}
	return cli.Refuse("List them: fettle log", fmt.Sprintf("cannot find command c%d", id))
}
