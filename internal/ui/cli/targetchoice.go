package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/selection"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/workspace"
)

// chooseOne reads -t for a command: a single name is the target, any other word is a selection, which
// only some commands accept.
func (s *Session) chooseOne(c *cobra.Command) error {
	if err := refuseUnused(c); err != nil {
		return err
	}
	s.rootNamed = c.Root().PersistentFlags().Changed("root")
	if s.ConnectOpts.Via.Value == ViaHub && (s.ConnectOpts.SSH != "" || len(s.Words) == 0) {
		return Refuse("Name the targets: -t TARGET", "cannot connect through the hub: no target is named")
	}
	if len(s.Words) == 0 {
		return nil
	}
	if len(s.Words) == 1 && oneName(s.Words[0]) {
		s.Target = s.Words[0]
		return nil
	}
	if c.Annotations[ManyMark] == "" {
		return Refuse("Name one target: -t NAME", fmt.Sprintf("cannot run %q on %s: it works on one target",
			c.CommandPath(), strings.Join(s.Words, ",")))
	}
	if s.ConnectOpts.SSH != "" {
		return Refuse("Leave --ssh out, or name one target: -t NAME", "cannot use --ssh with many targets: it names one host")
	}
	return nil
}

// oneName tells whether a word of -t is the name of one target.
func oneName(word string) bool {
	return selection.Quote(word) == word && !strings.Contains(word, ":")
}

// choose gives the targets of -t: a hub finds them where there is no repository.
func (s *Session) choose(ctx context.Context, src *workspace.Source) ([]query.Target, error) {
	if src.None != nil {
		return s.HubAccess.Selected(ctx)
	}
	return Selected(s, src, s.Words)
}

// Selected are the targets that words choose, by name.
func Selected(s *Session, src *workspace.Source, words []string) ([]query.Target, error) {
	sel, err := selection.Parse(words)
	if err != nil {
		return nil, WithHint(err, selection.Grammar)
	}
	all, err := Inventory(s, src)
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
		if given.Failed, err = historyDir(s.Printer).LastFailed(historyOf(src)); err != nil {
			return nil, err
		}
	}
	return sel.Choose(all, given)
}

// Named is the machine that is worked on as it was named; "" for this one.
func (s *Session) Named() string {
	if s.ConnectOpts.SSH != "" {
		return s.ConnectOpts.SSH
	}
	return s.Target
}

// ChooseTarget returns the target: the named one, otherwise this host if it is declared, otherwise ""
// for the only target.
func (s *Session) ChooseTarget(src *workspace.Source) (string, error) {
	names, err := s.Targets(src)
	switch {
	case err != nil && s.Target != "":
		return s.Target, nil // the compilation reports the errors, and the names of the targets
	case err != nil:
		return "", err
	case s.Target != "" && !slices.Contains(names, s.Target):
		return "", UnknownTarget(s.Target, names)
	case s.Target != "":
		return s.Target, nil
	}
	if len(names) == 1 {
		return names[0], nil
	}
	if host, err := s.App.Hostname(); err == nil {
		short, _, _ := strings.Cut(host, ".")
		for _, name := range []string{host, short} {
			if slices.Contains(names, name) {
				return name, nil
			}
		}
	}
	if len(names) == 0 {
		return "", Refuse(`Declare one in fettle.hcl: target "NAME" { modules = ["base"] }`,
			"cannot choose a target: the repository declares none")
	}
	return "", Refuse("Name one: -t "+names[0]+" ("+strings.Join(names, ", ")+")",
		"cannot choose a target: the repository declares several and none has this host's name")
}

// PlainNames are the names that words of -t consist of; ok is false where they select in
// another way.
func PlainNames(words []string) (names []string, ok bool) {
	for _, w := range words {
		for name := range strings.SplitSeq(w, ",") {
			if !oneName(name) {
				return nil, false
			}
			names = append(names, name)
		}
	}
	return names, true
}
