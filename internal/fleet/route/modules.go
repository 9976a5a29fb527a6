package route

import (
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
)

// ModuleQuery names a module, with or without "modules/", and selects a page of its targets.
type ModuleQuery struct {
	Module string `path:"module"`
	Offset int    `query:"offset" does:"skip this number of items"`
	Limit  int    `query:"limit" does:"return at most this number of items"`
}

func ofModules() []Row { return []Row{Modules().Row, Module().Row, Exports().Row} }

// Modules returns all assigned modules.
func Modules() (r Route[None, None, document.ModulePage]) {
	return r.get(access.Read, "/v1/modules", "List the modules of all active targets").perTarget()
}

// Module returns one module with a page of its targets.
func Module() (r Route[ModuleQuery, None, document.ModuleDetail]) {
	return r.get(access.Read, "/v1/modules/{module}",
		"Show one module and its targets, worst first; write a / in its name as %2F").perTarget()
}

// Exports returns the exported values of all targets.
func Exports() (r Route[None, None, document.Exports]) {
	return r.get(access.Read, "/v1/exports", "List the values that targets export")
}
