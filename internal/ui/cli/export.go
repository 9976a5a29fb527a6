//go:build !target

package cli

import (
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

func newExport(s *session) *cobra.Command {
	c := &cobra.Command{
		Use:   "export",
		Short: "Values that targets export to each other",
		Args:  args(0, 0),
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newExportList(s))
	return c
}

func newExportList(s *session) *cobra.Command {
	var w watching
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
		Args:    args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			ask := func(hub *client.Client) (document.Exports, error) {
				return client.Get(c.Context(), hub, route.Exports())
			}
			if snapshot {
				return exportSnapshot(s.printer, c, ask, w)
			}
			return showing(c.Context(), s.printer, w, ask, showExports)
		},
	}
	c.Flags().BoolVar(&snapshot, "snapshot", false, "print the values in the form of exported.json")
	w.flag(c)
	return c
}

func exportSnapshot(s *printer, c *cobra.Command,
	ask func(*client.Client) (document.Exports, error), w watching) error {
	if w.on {
		return refuse("Leave --watch out", "cannot watch while a file is written")
	}
	hub, err := s.hub()
	if err != nil {
		return err
	}
	all, err := ask(hub)
	if err == nil {
		_, err = io.WriteString(s.app.Stdout, all.Snapshot)
	}
	return err
}

func showExports(s *printer, all document.Exports) {
	if len(all.Exports) == 0 {
		fmt.Fprintln(s.app.Stdout, "No target exports a value.")
		return
	}
	rows := [][]string{}
	for _, e := range all.Exports {
		module := directoryName(e.Module)
		if e.As != "" {
			module += " as " + e.As
		}
		rows = append(rows, []string{e.Target, module, e.Output, strconv.Itoa(e.Users), s.ago(e.Since), clip(e.Value)})
	}
	s.style().Table(s.app.Stdout, []string{"TARGET", "MODULE", "OUTPUT", "RECEIVERS", "SINCE", "VALUE"}, rows)
}
