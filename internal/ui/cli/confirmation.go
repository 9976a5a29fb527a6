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
	word, err := s.Word(ctx)
	if ctx.Err() != nil {
		fmt.Fprintln(s.App.Stdout)
		return false, context.Cause(ctx)
	}
	return err == nil && (word == "y" || word == "yes"), nil
}

// Word waits for a line on the terminal, and returns it in lower case, without white space. If ctx ends first, the
// error is its cause. The next call ignores a line that was typed in between. It must not be called concurrently.
func (s *Session) Word(ctx context.Context) (string, error) {
	if s.lines == nil { // one for all questions: it may read ahead
		s.lines = bufio.NewReader(s.App.Stdin)
	}
	if s.reading != nil {
		select {
		case <-s.reading:
			s.reading = nil
		default:
		}
	}
	if s.reading == nil {
		reading := make(chan typedText, 1)
		s.reading = reading
		go func() { // ends with the line, or with the process
			line, err := s.lines.ReadString('\n')
			reading <- typedText{line, err}
		}()
	}
	select {
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case text := <-s.reading:
		s.reading = nil
		if ctx.Err() != nil { // a late answer does not count
			return "", context.Cause(ctx)
		}
		word := strings.ToLower(strings.TrimSpace(text.line))
		if word != "" {
			text.err = nil
		}
		return word, text.err
	}
}

// AskBefore asks before an effect that cannot be undone, or that withdraws access.
func AskBefore(ctx context.Context, s *Session, yes bool, question string) error {
	if err := s.Ask(ctx, yes, question); err != nil {
		return WithHint(err, "Answer y to continue, or add --yes")
	}
	return nil
}
