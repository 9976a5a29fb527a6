package repository

import (
	"strings"
	"time"

	"fettle.dev/fettle/internal/outside"
	"fettle.dev/fettle/internal/ui/cli"
)

func showLookups(s *cli.Printer, list []outside.Lookup) {
	if len(list) == 0 {
		s.Printf("The repository declares no lookups.\n")
		return
	}
	rows := [][]string{}
	for _, d := range list {
		age := ""
		if d.Taken != 0 {
			age = s.App.Now().Sub(time.Unix(0, d.Taken)).Round(time.Second).String()
		}
		rows = append(rows, []string{d.Name, strings.TrimSpace(d.State + " " + d.Error), age, d.Snapshot, d.Source})
	}
	s.Style().Table(s.App.Stdout, []string{"LOOKUP", "STATE", "AGE", "FILE", "SOURCE"}, rows)
}

func showRefreshed(s *cli.Printer, d outside.Lookup) {
	if s.JSON {
		return
	}
	if d.State == "failed" {
		s.ErrStyle().Error(s.App.Stderr, d.Name+": "+d.Error, "The previous snapshot is kept. Declared at "+d.Declared)
		return
	}
	s.Printf("%s %s\n", d.Snapshot, d.State)
	if d.Diff != "" {
		s.Style().Diff(s.App.Stdout, d.Diff, "  ", -1)
	}
}
