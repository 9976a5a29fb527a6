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
		return refuse("Look at the plan, then type the same with --yes", "cannot ask without a terminal: nothing was changed")
	}
	fmt.Fprintf(s.app.Stdout, "\n%s [y/N] ", question)
	answer := make(chan string, 1)
	go func() { // ends with the line, or with the process
		line, _ := bufio.NewReader(s.app.Stdin).ReadString('\n')
		answer <- line
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(s.app.Stdout)
		return withHint(fmt.Errorf("cannot go on: %w before the answer; nothing was changed", context.Cause(ctx)), "")
	case line := <-answer:
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return nil
		}
		return refuse("Answer y to go on, or give --yes", "not confirmed: nothing was changed")
	}
}
