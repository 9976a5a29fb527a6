package hubclient

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/fleet/selection"
	"fettle.dev/fettle/internal/ui/cli"
)

// SelectMany marks a command whose -t accepts a selection of several targets.
func SelectMany(c *cobra.Command) *cobra.Command {
	c.Annotations = map[string]string{cli.ManyMark: "yes"}
	return c
}

// SelectedOnHub is what -t says for a hub, which reads no files of this machine.
func SelectedOnHub(s *cli.Session) ([]string, error) {
	sel, err := selection.Parse(s.Words)
	if err != nil {
		return nil, err
	}
	if files := sel.Files(); len(files) > 0 {
		return nil, cli.Refuse("Write the content of the file after -t",
			fmt.Sprintf("cannot select @%s: a hub cannot read files of this host", files[0]))
	}
	return s.Words, nil
}

// EachOnHub calls f for every target that is named or that -t selects, and continues after a refused
// target.
func EachOnHub(ctx context.Context, s *cli.Session, did string, names []string,
	f func(*client.Client, string) (document.Done, error)) error {
	hub, err := HubOf(s.Printer)
	if err != nil {
		return err
	}
	if names, err = NamedOnHub(ctx, s, hub, names); err != nil {
		return err
	}
	var texts []string
	var wrong []error
	for _, name := range names {
		d, err := f(hub, name)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		texts = append(texts, d.Text)
	}
	if len(texts) > 0 && len(wrong) == 0 {
		return s.Done(did, 0, strings.Join(texts, "\n"))
	}
	for _, t := range texts {
		s.Printf("%s\n", t)
	}
	return errors.Join(wrong...)
}

// NamedOnHub returns the targets of a command: the named targets, otherwise the targets that -t
// selects.
func NamedOnHub(ctx context.Context, s *cli.Session, hub *client.Client, names []string) ([]string, error) {
	switch {
	case len(names) > 0 && len(s.Words) > 0:
		return nil, cli.Refuse("Either name targets, or select them with -t", "cannot combine named targets with a selection")
	case len(names) > 0:
		return names, nil
	case len(s.Words) == 0:
		return nil, cli.Refuse("Name a target, or select several: -t SELECTION", "cannot run this command without a target")
	}
	words, err := SelectedOnHub(s)
	if err != nil {
		return nil, err
	}
	page, err := client.GetAt(ctx, hub, route.Targets(), route.TargetQuery{Select: words, Sort: "name"})
	for _, t := range page.Targets {
		names = append(names, string(t.ID))
	}
	return names, err
}
