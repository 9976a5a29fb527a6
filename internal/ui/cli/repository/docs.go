package repository

import (
	"context"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/selection"
	"fettle.dev/fettle/internal/ui/cli"
)

// NewDocs builds the command docs, to show the reference of the language, of actions and of
// commands.
func NewDocs(s *cli.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "docs [KIND|BLOCK|VERB|ACTION|COMMAND|WORD]",
		Short: "Show the reference of the language, of actions and of commands",
		Long: `Shows the reference of kinds, blocks, verbs, actions and commands. In a
repository, it also contains the kinds that the repository defines, with the
descriptions of their variables and outputs. It also contains the actions and
commands of fettle run, with their parameters. "fettle docs targets" describes
the argument of -t.

If nothing has the name, it lists every kind, block, verb, action and command
whose description or attributes contain the word.`,
		Example: "  fettle docs\n  fettle docs file\n  fettle docs firewall\n  fettle docs target_group\n  fettle docs COPY\n  fettle docs targets",
		Args:    cli.Args(0, 1),
		RunE: func(c *cobra.Command, a []string) error {
			if len(a) == 1 && a[0] == "targets" && !s.JSON {
				s.Printf("%s", selection.Grammar)
				return nil
			}
			return s.Paged(c.Context(), func() error { return runDocs(c.Context(), s, a) })
		},
	}
}

func runDocs(ctx context.Context, s *cli.Session, names []string) error {
	doc := docs(ctx, s)
	if len(names) == 1 {
		return showAnswer(s.Printer, doc, names[0])
	}
	if s.JSON {
		return s.Document(doc)
	}
	listDocs(s.Printer, doc)
	return nil
}
