package once

import (
	"strings"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

// CommandDoc is a command that was run, or would be.
type CommandDoc struct {
	Format   string        `json:"format"` // fettle.command/1
	ID       int           `json:"id"`     // in the history of commands: c12; 0 for a dry run
	Action   string        `json:"action,omitempty"`
	Argv     [][]string    `json:"argv"`
	Targets  []string      `json:"targets,omitempty"` // of a dry run
	Locks    []string      `json:"locks,omitempty"`   // it needs a slot of each
	DryRun   bool          `json:"dry_run,omitempty"`
	Exit     int           `json:"exit"` // -1 when a signal or the timeout ended it
	Signal   string        `json:"signal,omitempty"`
	TimedOut bool          `json:"timed_out,omitempty"`
	Stdout   string        `json:"stdout"`
	Stderr   string        `json:"stderr"`
	Duration time.Duration `json:"duration_ns"`
}

func commandJSON(c executor.Command, r *executor.CommandResult) CommandDoc {
	return CommandDoc{Format: "fettle.command/1", ID: r.ID, Action: c.Action, Argv: c.Argv, Locks: c.Locks, Exit: r.Exit,
		Signal: r.Signal, TimedOut: r.TimedOut, Stdout: r.Stdout, Stderr: r.Stderr, Duration: r.Duration}
}

// wouldRun says what a dry run leaves out.
func wouldRun(s *cli.Printer, c executor.Command, targets []string) error {
	if s.JSON {
		return s.Document(CommandDoc{Format: "fettle.command/1", Action: c.Action, Argv: c.Argv, Targets: targets,
			Locks: c.Locks, DryRun: true})
	}
	on := "this host"
	if len(targets) > 0 {
		on = render.Count(len(targets), "target") + ": " + strings.Join(targets, ", ")
	}
	s.Printf("Would run on %s\n", render.Escape(on))
	for _, argv := range c.Argv {
		s.Printf("  %s\n", render.Escape(cli.WordsText(argv)))
	}
	if len(c.Locks) > 0 {
		s.Printf("It needs a slot of: %s\n", strings.Join(c.Locks, ", "))
	}
	return nil
}
