package assign

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/semver"
)

// VersionsOf returns what the bundles of compiled targets declare about versions, by directory. Bundles that declare
// nothing are not in the result. If a name means different modules on some targets, the constraint is for each of them.
func VersionsOf(list []query.Target) map[string]Versioned {
	out := map[string]Versioned{}
	seen := map[*query.Use]bool{}
	for _, t := range list {
		if len(t.Uses) == 0 || seen[&t.Uses[0]] {
			continue
		}
		seen[&t.Uses[0]] = true
		for _, u := range t.Uses {
			if part := content.PartOf(u.Directory); part != content.RootBundle {
				if v := out[part].with(part, u); len(v.Versions)+len(v.Requires) > 0 {
					out[part] = v
				}
			}
		}
	}
	return out
}

// with returns v and the declarations of one more use of the bundle.
func (v Versioned) with(part string, u query.Use) Versioned {
	if u.Version != "" && v.Versions[u.Directory] == "" {
		if v.Versions == nil {
			v.Versions = map[string]string{}
		}
		v.Versions[u.Directory] = u.Version
	}
	for _, n := range u.Needs {
		r := Requirement{u.Directory, n.Directory, n.Version}
		if other := content.PartOf(n.Directory); n.Version != "" && other != part && other != content.RootBundle &&
			!slices.Contains(v.Requires, r) {
			v.Requires = append(v.Requires, r)
		}
	}
	slices.SortFunc(v.Requires, func(a, b Requirement) int {
		return cmp.Or(cmp.Compare(a.By, b.By), cmp.Compare(a.Module, b.Module), cmp.Compare(a.Version, b.Version))
	})
	return v
}

// Versions contains what bundles declare about versions. Bundles that are not in it are unknown.
type Versions map[VersionsKey]Versioned

// VersionsKey identifies the content of a module. Modules in different directories can have the same digest.
type VersionsKey struct{ Module, Digest string }

// Learn adds the bundles of a compiled commit.
func (v Versions) Learn(c Contents) {
	for part, b := range c.Bundles {
		v[VersionsKey{part, b.Digest}] = c.Versions[part]
	}
}

// Of returns what the bundle of a module declares. known is false if the bundle is unknown.
func (v Versions) Of(m fleet.Assigned) (declared Versioned, known bool) {
	declared, known = v[VersionsKey{m.Module, m.Bundle.Digest}]
	return declared, known
}

// requires returns the constraints of a module.
func (v Versions) requires(m fleet.Assigned) []Requirement {
	declared, _ := v.Of(m)
	return declared.Requires
}

// Unknown returns the commits of present content of which the versions are not known, sorted: content of modules that
// have constraints or are named in constraints in a compiled commit, and have other content there.
func (v Versions) Unknown(head Contents, previous map[fleet.TargetID]fleet.Assignment) []string {
	parts := map[string]bool{}
	for part, declared := range head.Versions {
		for _, r := range declared.Requires {
			parts[part], parts[content.PartOf(r.Module)] = true, true
		}
	}
	if len(parts) == 0 {
		return nil
	}
	commits, seen := map[string]bool{}, map[*fleet.Assigned]bool{}
	for _, a := range previous {
		if a.Withdrawn != "" || len(a.Modules) == 0 || seen[&a.Modules[0]] {
			continue
		}
		seen[&a.Modules[0]] = true
		for _, m := range a.Modules {
			if _, known := v.Of(m); !known && parts[m.Module] {
				commits[m.Revision.Commit] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(commits))
}

// Unmet returns the reason why two modules do not fit each other, or "": the first one requires another version of the
// second one. The reason names the constraint. An unknown bundle of the first module requires nothing. A module without
// a version fulfills no constraint, and neither does an unknown bundle of the second module.
func (v Versions) Unmet(first, second fleet.Assigned) string {
	for _, r := range v.requires(first) {
		if content.PartOf(r.Module) != second.Module {
			continue
		}
		known, ok := v.Of(second)
		version := known.Versions[r.Module]
		need := r.text()
		switch {
		case !ok:
			return need + ", and the version of the present content is not known"
		case version == "":
			return need + ", and the content of this module has no version"
		case !semver.Fulfills(version, r.Version):
			return need + ", and the content of this module has version " + version
		}
	}
	return ""
}

// Need returns the first constraint of a module on another module, for users, or "".
func (v Versions) Need(first fleet.Assigned, other string) string {
	for _, r := range v.requires(first) {
		if content.PartOf(r.Module) == other {
			return r.text()
		}
	}
	return ""
}

func (r Requirement) text() string {
	return fmt.Sprintf("%s needs %s %s", shortName(r.By), shortName(r.Module), r.Version)
}

// shortName returns the name of a module for users.
func shortName(directory string) string {
	if path.Dir(directory) == "modules" {
		return path.Base(directory)
	}
	return directory
}

// unmet returns the first reason why modules of a list do not fit each other, or "".
func (v Versions) unmet(list []fleet.Assigned) string {
	for _, first := range list {
		if len(v.requires(first)) == 0 {
			continue
		}
		for _, second := range list {
			if why := v.Unmet(first, second); why != "" {
				return why
			}
		}
	}
	return ""
}
