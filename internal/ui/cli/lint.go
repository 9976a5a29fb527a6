package cli

import (
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/step"
)

// lint finds what is wrong with a list as a whole.
func lint(s *printer, l step.List) diag.List {
	return step.Lint(l, step.DebianBase{})
}
