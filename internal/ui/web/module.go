package web

import (
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// modulesPage lists the modules.
func modulesPage(v *visit) (*page, error) {
	all, err := get(v, route.Modules(), route.None{})
	if err != nil {
		return nil, err
	}
	return &page{Title: "Modules", Tab: "/modules", Template: "modules", Data: all, Command: "fettle module list",
		Address: address(route.Modules(), route.None{})}, nil
}

// moduleData is the data of the page of a module.
type moduleData struct {
	document.ModuleDetail
	Most int // the largest number of targets of a revision
}

// modulePage shows a module, and its revision on each target.
func modulePage(v *visit) (*page, error) {
	at := route.ModuleQuery{Module: v.PathValue("module"), Limit: 500}
	m, err := get(v, route.Module(), at)
	if err != nil {
		return nil, err
	}
	d := moduleData{ModuleDetail: m}
	for _, r := range m.Module.Revisions {
		d.Most = max(d.Most, r.Assigned, r.Applied)
	}
	name := partName(m.Module.Module)
	return &page{Title: name, Tab: "/modules", Template: "module", Data: d,
		Command: commandOf("fettle", "module", "show", name), Address: address(route.Module(), at)}, nil
}
