package cli

import (
	"bufio"
	"context"
	"fmt"
	"strings"
)

// Ask puts a question and waits for yes. Without a terminal, or with --json,
// it refuses and names the flag that answers.
func (s *Session) Ask(ctx context.Context, yes bool, question string) error {
	if yes {
		return nil
	}
	if s.JSON || !s.App.Terminal.In {
		return Refuse("Read the plan, then run the same command with --yes",
			"cannot ask for confirmation without a terminal: nothing was changed")
	}
	answer, err := s.Question(ctx, question)
	if err != nil {
		return WithHint(fmt.Errorf("cannot continue: %w before the answer; nothing was changed", err), "")
	}
	if !answer {
		return Refuse("Answer y to continue, or add --yes", "not confirmed: nothing was changed")
	}
	return nil
}

// Question asks on the terminal, and reports whether the answer is yes. If ctx ends first, the error
// is its cause.
func (s *Session) Question(ctx context.Context, question string) (bool, error) {
	fmt.Fprintf(s.App.Stdout, "\n%s [y/N] ", question)
	if s.lines == nil { // one for all questions: it may read ahead
		s.lines = bufio.NewReader(s.App.Stdin)
	}
	answer := make(chan string, 1)
	go func() { // ends with the line, or with the process
		line, _ := s.lines.ReadString('\n')
		answer <- line
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(s.App.Stdout)
		return false, context.Cause(ctx)
	case line := <-answer:
		if ctx.Err() != nil { // a late answer does not count
			return false, context.Cause(ctx)
		}
		word := strings.ToLower(strings.TrimSpace(line))
		return word == "y" || word == "yes", nil
	}
}

// AskBefore asks before an effect that cannot be undone, or that withdraws access.
func AskBefore(ctx context.Context, s *Session, yes bool, question string) error {
	if err := s.Ask(ctx, yes, question); err != nil {
		return WithHint(err, "Answer y to continue, or add --yes")
	}
	return nil
}
