package repository

import (
	"cmp"
	"strings"

	"fettle.dev/fettle/internal/outside"
	"fettle.dev/fettle/internal/ui/cli"
)

func showModuleList(s *cli.Printer, list []outside.Module) {
	if len(list) == 0 {
		s.Printf("The repository has no modules. Add one: fettle module add NAME SOURCE\n")
		return
	}
	rows := [][]string{}
	for _, d := range list {
		rows = append(rows, []string{d.Name, cmp.Or(d.Version, d.Commit[:min(12, len(d.Commit))]),
			strings.TrimSpace(d.State + " " + strings.Join(d.Changed, " ")), strings.TrimSuffix(d.Source+"//"+d.Path, "//")})
	}
	s.Style().Table(s.App.Stdout, []string{"MODULE", "VERSION", "STATE", "SOURCE"}, rows)
}

// showCopied shows the modules that were copied from other repositories.
func showCopied(s *cli.Printer, list []outside.Module) error {
	if s.JSON {
		return s.Document(ModulesDoc{Format: "fettle.modules/1", Modules: append([]outside.Module{}, list...)})
	}
	for _, d := range list {
		was := ""
		if d.Was != "" && d.State == "updated" {
			was = ", was " + d.Was
		}
		s.Printf("modules/%s %s: %s%s\n", d.Name, d.State, cmp.Or(d.Version, d.Commit), was)
		for _, f := range d.Changed {
			s.Printf("  %s was edited here; the edit was replaced\n", f)
		}
	}
	if len(list) == 0 {
		s.Printf("No module was copied from another repository.\n")
	}
	return nil
}

// ModulesDoc lists modules of a repository.
type ModulesDoc struct {
	Format  string           `json:"format"` // fettle.modules/1
	Modules []outside.Module `json:"modules"`
}
