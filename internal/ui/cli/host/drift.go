package host

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/rundoc"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

// NewDrift builds the command drift, to show differences between the host and the applied state.
func NewDrift(s *cli.Session) *cobra.Command {
	var f viewFlags
	var many cli.ManyFlags
	attributes := executor.DefaultAttributes()
	c := &cobra.Command{
		Use:   "drift",
		Short: "Show differences between the host and the applied state",
		Long: `Compares the applied state with the current state of the host, and changes
nothing. It does not need a repository.

--verify reads every byte. Without it, a file with the same size, times and
inode counts as unchanged. --verify also reports attributes of managed files and
directories that no state declares and that changed since they were applied:
access control lists (acl), file capabilities (capability) and inode flags
(flags). --attributes selects the reported attributes: also user and other
extended attributes (user, other), or none.

The guards of exec states run as in "fettle plan". If the guards of a state give
no result, fettle prints a warning and does not report drift of this state.

Exits with code 2 if there are differences.`,
		Example: "  fettle drift\n  fettle drift --verify --json\n  fettle drift --no-guards\n  fettle drift --verify --attributes acl,user",
		Args:    cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			o, err := driftOptions(c, f.Wants(s.Printer), f.Verify, attributes)
			if err != nil {
				return err
			}
			o.Guards = f.Guards()
			if s.IsMany() {
				return driftMany(c.Context(), s, f, many, o)
			}
			return cli.WithPagedOutput(c.Context(), s, func(x executor.Executor) error {
				p, err := x.Drift(c.Context(), o)
				if err != nil {
					return err
				}
				return showDrift(s.Printer, p, f.options(s.Printer))
			})
		},
	}
	f.Flags(c)
	many.Flags(c)
	c.Flags().StringSliceVar(&attributes, "attributes", attributes,
		"with --verify: the `ATTRIBUTES` to report although no state declares them: "+
			strings.Join(executor.AttributeKinds(), ", ")+", or none")
	return c
}

// driftOptions refuses unknown attributes, and attributes that are not compared.
func driftOptions(c *cobra.Command, diffs, verify bool, attributes []string) (executor.DriftOptions, error) {
	o := executor.DriftOptions{Diffs: diffs, Verify: verify}
	if c.Flags().Changed("attributes") && !verify {
		return o, cli.Refuse("Add --verify", "cannot select attributes without --verify, which reads them")
	}
	for _, a := range attributes {
		switch {
		case a == "none" && len(attributes) == 1:
		case slices.Contains(executor.AttributeKinds(), a):
			o.Attributes = append(o.Attributes, a)
		default:
			return o, cli.Refuse("Use "+strings.Join(executor.AttributeKinds(), ", ")+", or none alone",
				fmt.Sprintf("cannot read --attributes: there is no kind of attribute %q", a))
		}
	}
	return o, nil
}

func showDrift(s *cli.Printer, p *plan.Plan, o render.PlanOptions) error {
	tellNotes(s, p)
	if s.JSON {
		if err := s.Document(rundoc.PlanOf(rundoc.DriftFormat, p)); err != nil {
			return err
		}
	} else {
		s.Style().Drift(s.App.Stdout, p, o)
	}
	if len(p.Changes) > 0 {
		return cli.ErrChanges
	}
	return nil
}
