package agent

import (
	"slices"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/host/accountfile"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/step"
)

// managedOf returns the watchable part of the applied state: paths, units, and the files with the
// accounts and packages.
func managedOf(entries []journal.Entry) Managed {
	var m Managed
	for _, e := range entries {
		switch e.Addr.Kind() {
		case addr.KindUnit:
			m.Units = append(m.Units, e.Addr.Name())
		case addr.KindUser, addr.KindGroup, addr.KindMember:
			m.Paths = append(m.Paths, accountfile.Passwd, accountfile.Shadow, accountfile.Group, accountfile.GShadow)
		case addr.KindPkg:
			m.Paths = append(m.Paths, "/var/lib/dpkg/status")
		default:
			m.path(e)
		}
	}
	for _, list := range []*[]string{&m.Paths, &m.WholeDirectories, &m.Units} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return m
}

func (m *Managed) path(e journal.Entry) {
	p := e.Addr.Path()
	if p == "" {
		return
	}
	m.Paths = append(m.Paths, p)
	if e.Step.Verb == step.Mkdir && e.Step.Get("purge") == "true" {
		m.WholeDirectories = append(m.WholeDirectories, p)
	}
}
