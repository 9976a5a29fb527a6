package host

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

// RanDoc is a command of the history.
type RanDoc struct {
	Format   string     `json:"format,omitempty"` // fettle.ran/2 where it is a document of its own
	ID       int        `json:"id"`
	Action   string     `json:"action,omitempty"`
	Argv     [][]string `json:"argv"`
	Dir      string     `json:"dir,omitempty"`
	As       string     `json:"as,omitempty"` // the user that it ran as
	ReadOnly bool       `json:"read_only,omitempty"`
	Started  int64      `json:"started"`         // ns since 1970
	Ended    int64      `json:"ended,omitempty"` // ns since 1970; 0 while unfinished
	Outcome  string     `json:"outcome"`         // succeeded, failed, interrupted, unfinished
	Exit     int        `json:"exit"`
	Signal   string     `json:"signal,omitempty"`
	TimedOut bool       `json:"timed_out,omitempty"`
	Error    string     `json:"error,omitempty"`
	User     string     `json:"user"`
	From     string     `json:"from"`
	Command  string     `json:"command"`
	Version  string     `json:"version"`
	Stdout   string     `json:"stdout,omitempty"` // in fettle show
	Stderr   string     `json:"stderr,omitempty"`
}

func ranJSON(c journal.Command) RanDoc {
	return RanDoc{ID: c.ID, Action: c.Action, Argv: c.Argv, Dir: c.Dir, As: c.As, ReadOnly: c.ReadOnly,
		Started: c.Started, Ended: c.Ended,
		Outcome: endOfCommand(c), Exit: c.Exit, Signal: c.Signal, TimedOut: c.TimedOut, Error: c.Error, User: c.User,
		From: c.From, Command: c.Typed, Version: c.Version}
}

func endOfCommand(c journal.Command) string {
	if c.Outcome == "" {
		return "unfinished"
	}
	return string(c.Outcome)
}

// commandOperation names a command in a few words.
func commandOperation(c journal.Command) string {
	const most = 40
	text := "run"
	if c.Action != "" {
		return c.Action
	}
	if len(c.Argv) > 0 {
		text += " " + cli.WordsText(c.Argv[0])
	}
	if r := []rune(text); len(r) > most {
		text = string(r[:most-1]) + "…"
	}
	return render.Escape(text)
}

func howCommandEnded(c journal.Command) string {
	switch {
	case c.TimedOut:
		return "failed, timed out"
	case c.Outcome == journal.Failed && c.Exit > 0:
		return fmt.Sprintf("failed, exit %d", c.Exit)
	case c.Outcome == journal.Failed && c.Signal != "":
		return "failed, " + c.Signal
	}
	return endOfCommand(c)
}

// commandNumber reads c12; ok is false for any other word.
func commandNumber(word string) (int, bool) {
	digits, ok := strings.CutPrefix(word, "c")
	n, err := strconv.Atoi(digits)
	return n, ok && err == nil && n > 0
}

func printCommand(s *cli.Printer, c journal.Command) {
	took := ""
	if c.Ended > 0 {
		took = " in " + render.Duration(time.Duration(c.Ended-c.Started))
	}
	pairs := []render.Pair{
		{Name: "command", Value: "c" + strconv.Itoa(c.ID)},
		{Name: "action", Value: c.Action},
		{Name: "outcome", Value: howCommandEnded(c) + took},
		{Name: "error", Value: c.Error},
		{Name: "started", Value: s.Moment(c.Started)},
		{Name: "by", Value: cli.JoinWords(c.User, "("+c.From+")", processText(c.PID))},
		{Name: "typed", Value: c.Typed},
		{Name: "as", Value: c.As},
		{Name: "in", Value: c.Dir},
	}
	for _, argv := range c.Argv {
		pairs = append(pairs, render.Pair{Name: "ran", Value: cli.WordsText(argv)})
	}
	s.Style().Pairs(s.App.Stdout, pairs)
	for _, part := range []struct{ name, text string }{{"stdout", c.Stdout}, {"stderr", c.Stderr}} {
		if part.text == "" {
			continue
		}
		s.Printf("\n%s\n", part.name)
		for line := range strings.Lines(part.text) {
			s.Printf("  %s\n", render.Escape(strings.TrimRight(line, "\r\n")))
		}
	}
}
