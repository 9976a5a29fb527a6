package cli

import (
	"bufio"
	"context"
	"fmt"
	"strings"
)

// ask puts a question and waits for yes. Without a terminal, or with --json,
// it refuses and names the flag that answers.
func (s *session) ask(ctx context.Context, yes bool, question string) error {
	if yes {
		return nil
	}
	if s.json || !s.app.Terminal.In {
		return refuse("Read the plan, then run the same command with --yes",
			"cannot ask for confirmation without a terminal: nothing was changed")
	}
	answer, err := s.question(ctx, question)
	if err != nil {
		return withHint(fmt.Errorf("cannot continue: %w before the answer; nothing was changed", err), "")
	}
	if !answer {
		return refuse("Answer y to continue, or add --yes", "not confirmed: nothing was changed")
	}
	return nil
}

// question asks on the terminal, and reports whether the answer is yes. If ctx ends first, the error
// is its cause.
func (s *session) question(ctx context.Context, question string) (bool, error) {
	fmt.Fprintf(s.app.Stdout, "\n%s [y/N] ", question)
	if s.lines == nil { // one for all questions: it may read ahead
		s.lines = bufio.NewReader(s.app.Stdin)
	}
	answer := make(chan string, 1)
	go func() { // ends with the line, or with the process
		line, _ := s.lines.ReadString('\n')
		answer <- line
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(s.app.Stdout)
		return false, context.Cause(ctx)
	case line := <-answer:
		if ctx.Err() != nil { // a late answer does not count
			return false, context.Cause(ctx)
		}
		word := strings.ToLower(strings.TrimSpace(line))
		return word == "y" || word == "yes", nil
	}
}

// askBefore asks before an effect that cannot be undone, or that withdraws access.
func askBefore(ctx context.Context, s *session, yes bool, question string) error {
	if err := s.ask(ctx, yes, question); err != nil {
		return withHint(err, "Answer y to continue, or add --yes")
	}
	return nil
}
