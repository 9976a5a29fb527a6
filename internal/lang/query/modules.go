package query

import (
	"maps"
	"path"
	"strings"

	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
	"fettle.dev/fettle/internal/repo"
)

// TargetModules returns the modules of a target, level by level: first the modules of each list,
// then of its blocks. A module that several levels name occurs once, with the variables of all its
// blocks.
func TargetModules(p *source.Program, r *syntax.Reports, levels []*source.Level) []*source.ModuleUse {
	var uses []*source.ModuleUse
	seen, waits := map[string]*source.ModuleUse{}, waitingFor(p, r, levels)
	blocks := map[string]*source.ModuleUse{} // the first module of each label, to find labels with and without for_each
	for _, l := range levels {
		here := map[string]bool{}
		for _, u := range p.LevelModules(r, l) {
			old := seen[u.Name]
			switch {
			case waits.dirs[u.Directory]:
			case !checkModule(p, r, u) || mixed(r, blocks, u):
			case old == nil:
				seen[u.Name] = u
				uses = append(uses, u)
			case here[u.Name] || old.Directory != u.Directory:
				r.Errorf(u.Range, "Module twice",
					`The target already has the module %q. For a second instance, write a block with a different name: `+
						`module "NAME" { source = %q }.`, u.Name, u.Directory)
			default:
				maps.Copy(old.Vars, u.Vars)
				old.From = append(old.From, u.From...)
			}
			here[u.Name] = true
		}
	}
	return uses
}

// RepeatedModules returns the labels of module blocks with for_each, also of blocks without elements. It does not
// contain modules that must wait.
func RepeatedModules(p *source.Program, levels []*source.Level) map[string]bool {
	out, waits := map[string]bool{}, waitingFor(p, &syntax.Reports{}, levels)
	for _, l := range levels {
		for _, u := range l.Uses {
			if u.Repeated() && !waits.dirs[u.Directory] {
				out[u.Name] = true
			}
		}
	}
	return out
}

// mixed reports a label of module blocks that have a for_each at one place and not at another one.
func mixed(r *syntax.Reports, blocks map[string]*source.ModuleUse, u *source.ModuleUse) bool {
	label := u.Name
	if u.Each != nil {
		label = u.Each.Block
	}
	old := blocks[label]
	if old == nil {
		blocks[label] = u
		return false
	}
	if (old.Each == nil) == (u.Each == nil) {
		return false
	}
	r.Errorf(u.Range, "Module with and without for_each",
		"The target has the module %q with for_each and, at %s, without it. Rename one of the two.", label, old.Range)
	return true
}

// checkModule reports whether the directory of a module exists.
func checkModule(p *source.Program, r *syntax.Reports, u *source.ModuleUse) bool {
	if strings.Contains(u.Directory, ":/") || strings.Contains(u.Directory, "::") ||
		strings.HasPrefix(u.Directory, "git@") {
		r.Errorf(u.Range, "Module from another repository",
			"fettle reads modules only from directories of this repository, so that all hosts compile the same files. "+
				"Copy the module into the repository with: fettle module add %s %s — and remove source.", u.Name,
			strings.TrimPrefix(u.Directory, "git::"))
		return false
	}
	if u.Directory != path.Clean(u.Directory) || path.IsAbs(u.Directory) || u.Directory == "." || u.Directory == ".." ||
		strings.HasPrefix(u.Directory, "../") || strings.ContainsRune(u.Directory, 0) {
		r.Errorf(u.Range, "Bad module path",
			"%q is not a directory of the repository. Write a path from the top of the repository, such as modules/web.",
			u.Directory)
		return false
	}
	if e, err := p.Tree.Stat(u.Directory); err == nil && e.Type == repo.Dir {
		return true
	}
	var names []string
	list, _ := p.Tree.ReadDir(path.Dir(u.Directory))
	for _, e := range list {
		if e.Type == repo.Dir {
			names = append(names, path.Base(e.Path))
		}
	}
	r.Errorf(u.Range, "Unknown module", "There is no directory %s in the repository.%s", u.Directory,
		syntax.Suggest(path.Base(u.Directory), names))
	return false
}
