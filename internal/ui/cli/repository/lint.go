package repository

import (
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/ui/cli"
)

// lint finds what is wrong with a list as a whole.
func lint(s *cli.Printer, l step.List) diag.List {
	return step.Lint(l, step.DebianBase{})
}
