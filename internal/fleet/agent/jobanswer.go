package agent

import (
	"strings"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/fleet"
)

const longestError = 2 << 10

func shortError(err error) string {
	text := err.Error()
	if len(text) > longestError {
		text = strings.ToValidUTF8(text[:longestError], "") + "…"
	}
	return text
}

func resultOfCommand(r *executor.CommandResult) *fleet.CommandResult {
	return &fleet.CommandResult{
		Command: r.ID, Exit: r.Exit, Signal: r.Signal, TimedOut: r.TimedOut,
		Stdout: tail(r.Stdout), Stderr: tail(r.Stderr), Duration: int64(r.Duration),
	}
}

// tail returns at most fleet.MaxTail bytes from the end of a text, and marks a removed beginning.
func tail(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= fleet.MaxTail {
		return text
	}
	const word = "[… the beginning was removed …]\n"
	return word + strings.ToValidUTF8(text[len(text)-fleet.MaxTail+len(word):], "")
}
