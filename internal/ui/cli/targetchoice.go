package cli

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/selection"
	"fettle.dev/fettle/internal/lang/query"
)

// chooseOne reads -t for a command: a single name is the target, any other word is a selection, which
// only some commands accept.
func (s *session) chooseOne(c *cobra.Command) error {
	if err := refuseUnused(s.printer, c); err != nil {
		return err
	}
	s.rootNamed = c.Root().PersistentFlags().Changed("root")
	if s.connectOpts.via.value == viaHub && (s.connectOpts.ssh != "" || len(s.words) == 0) {
		return refuse("Name the targets: -t TARGET", "cannot connect through the hub: no target is named")
	}
	if len(s.words) == 0 {
		return nil
	}
	if len(s.words) == 1 && oneName(s.words[0]) {
		s.target = s.words[0]
		return nil
	}
	if c.Annotations[manyMark] == "" {
		return refuse("Name one target: -t NAME", fmt.Sprintf("cannot run %q on %s: it works on one target",
			c.CommandPath(), strings.Join(s.words, ",")))
	}
	if s.connectOpts.ssh != "" {
		return refuse("Leave --ssh out, or name one target: -t NAME", "cannot use --ssh with many targets: it names one host")
	}
	return nil
}

// oneName tells whether a word of -t is the name of one target.
func oneName(word string) bool {
	return selection.Quote(word) == word && !strings.Contains(word, ":")
}

// choose gives the targets of -t: a hub finds them where there is no repository.
func (s *session) choose(ctx context.Context, src *source) ([]query.Target, error) {
	if src.none != nil {
		return selectedByHub(ctx, s)
	}
	return selected(s, src, s.words)
}

// selected are the targets that words choose, by name.
func selected(s *session, src *source, words []string) ([]query.Target, error) {
	sel, err := selection.Parse(words)
	if err != nil {
		return nil, withHint(err, selection.Grammar)
	}
	all, err := inventory(s, src)
	if err != nil {
		return nil, err
	}
	given := selection.Given{Files: map[string]string{}}
	for _, name := range sel.Files() {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("cannot read the targets in %q: %w", name, err)
		}
		given.Files[name] = string(text)
	}
	if sel.Failed() {
		if given.Failed, err = lastFailed(s.printer, src); err != nil {
			return nil, err
		}
	}
	return sel.Choose(all, given)
}
