package query

import (
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
	"fettle.dev/fettle/internal/semver"
)

// fulfilled reports a constraint that the version of a needed module does not fulfill.
func fulfilled(p *source.Program, r *syntax.Reports, u, needed *source.ModuleUse, constraint string, at diag.Range) {
	body, ds := p.Module(needed.Directory)
	switch {
	case ds.HasErrors(): // one of them can be the reason
	case semver.Fulfills(body.Version, constraint):
	case body.Version == "":
		r.Errorf(at, "Needed module has no version",
			"The module %s needs %s %s, and %s declares no version. Write version = \"1.0.0\" in a file of that module, "+
				"or remove the constraint.", u.Name, needed.Name, constraint, needed.Directory)
	default:
		r.Errorf(at, "Needed module has another version",
			"The module %s needs %s %s, and %s has version %s (at %s). Change the constraint, or use another version "+
				"of that module.", u.Name, needed.Name, constraint, needed.Name, body.Version, body.VersionRange)
	}
}
