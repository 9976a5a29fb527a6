package fleet

import (
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
)

// NewExport builds the command export, to values that targets export to each other.
func NewExport(s *cli.Session) *cobra.Command {
	c := &cobra.Command{
		Use:   "export",
		Short: "Values that targets export to each other",
		Args:  cli.Args(0, 0),
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newExportList(s))
	return c
}

func newExportList(s *cli.Session) *cobra.Command {
	var w hubclient.Watching
	snapshot := false
	c := &cobra.Command{
		Use:   "list",
		Short: "List the exported values, and the number of targets that receive them",
		Long: `Lists the values that targets of the fleet export: outputs of their modules with
exported = true. RECEIVERS is the number of targets that receive a value because
one of their modules declares it with an exported block.

With --snapshot, prints the values in use in the form of exported.json. Put this
file at the top of a repository. Without a hub and an agent, fettle compile,
plan and apply read the values of other targets only from this file.`,
		Example: "  fettle export list\n  fettle export list --watch\n  fettle export list --snapshot >exported.json",
		Args:    cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			ask := func(hub *client.Client) (document.Exports, error) {
				return client.Get(c.Context(), hub, route.Exports())
			}
			if snapshot {
				return exportSnapshot(s.Printer, c, ask, w)
			}
			return hubclient.Showing(c.Context(), s.Printer, w, ask, showExports)
		},
	}
	c.Flags().BoolVar(&snapshot, "snapshot", false, "print the values in the form of exported.json")
	w.Flag(c)
	return c
}

func exportSnapshot(s *cli.Printer, c *cobra.Command,
	ask func(*client.Client) (document.Exports, error), w hubclient.Watching) error {
	if w.On {
		return cli.Refuse("Leave --watch out", "cannot watch while a file is written")
	}
	hub, err := hubclient.HubOf(s)
	if err != nil {
		return err
	}
	all, err := ask(hub)
	if err == nil {
		_, err = io.WriteString(s.App.Stdout, all.Snapshot)
	}
	return err
}

func showExports(s *cli.Printer, all document.Exports) {
	if len(all.Exports) == 0 {
		fmt.Fprintln(s.App.Stdout, "No target exports a value.")
		return
	}
	rows := [][]string{}
	for _, e := range all.Exports {
		module := hubclient.DirectoryName(e.Module)
		if e.As != "" {
			module += " as " + e.As
		}
		rows = append(rows, []string{e.Target, module, e.Output, strconv.Itoa(e.Users), hubclient.AgoText(s, e.Since),
			shortened(e.Value)})
	}
	s.Style().Table(s.App.Stdout, []string{"TARGET", "MODULE", "OUTPUT", "RECEIVERS", "SINCE", "VALUE"}, rows)
}
