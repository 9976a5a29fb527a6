package render

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/repo"
)

const (
	// ungroupedLimit is the largest number of changes that a grouped plan still lists one by one.
	ungroupedLimit = 50
	// smallGroup is the largest number of changes of one group that are listed one by one.
	smallGroup = 4
	// groupNames is the number of names that represent a larger group.
	groupNames = 3
)

// changeGroup contains the changes of one module with the same action and kind, in the order of
// the plan.
type changeGroup struct {
	action  plan.Action
	kind    addr.Kind
	changes []plan.Change
}

// grouped prints the changes by module, action and kind. A change that an operator must see, such
// as an irreversible one, is never folded into a count.
func (s Style) grouped(w io.Writer, changes []plan.Change, o PlanOptions) {
	modules, groups := groupChanges(changes)
	width := s.addrColumn(changes)
	for i, m := range modules {
		if i > 0 {
			fmt.Fprintln(w)
		}
		n, count := 0, 0
		for _, g := range groups[m] {
			n += len(g.changes)
			count = max(count, columns(g.count()))
		}
		fmt.Fprintf(w, "%s: %s\n", s.paint(bold, Escape(moduleTitle(m))), Count(n, "change"))
		for _, g := range groups[m] {
			s.changeGroup(w, g, width, count, o)
		}
	}
	fmt.Fprintf(w, "\n%s\n",
		s.paint(dim, "Grouped by module and kind. --full lists each change, in the order of the run."))
}

// groupChanges returns the modules in the order of their first change, with their groups in the
// same order.
func groupChanges(changes []plan.Change) (modules []string, groups map[string][]*changeGroup) {
	groups = map[string][]*changeGroup{}
	for _, c := range changes {
		m := repo.ModuleOf(c.Source)
		if groups[m] == nil {
			modules = append(modules, m)
		}
		i := slices.IndexFunc(groups[m], func(g *changeGroup) bool {
			return g.action == c.Shown() &&
				g.kind == c.Addr.Kind()
		})
		if i < 0 {
			i = len(groups[m])
			groups[m] = append(groups[m], &changeGroup{action: c.Shown(), kind: c.Addr.Kind()})
		}
		groups[m][i].changes = append(groups[m][i].changes, c)
	}
	return modules, groups
}

func moduleTitle(module string) string {
	if module == "" {
		return "outside of modules"
	}
	return module
}

// folded returns the changes of a group that have no line of their own.
func (g *changeGroup) folded() []plan.Change {
	if len(g.changes) <= smallGroup {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(g.changes), alwaysListed)
}

// count is the first column of a folded group, or "".
func (g *changeGroup) count() string {
	n := len(g.folded())
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d %s", n, kindWord(g.kind, n))
}

func (s Style) changeGroup(w io.Writer, g *changeGroup, width, countWidth int, o PlanOptions) {
	for _, c := range g.changes {
		if len(g.changes) <= smallGroup || alwaysListed(c) {
			s.change(w, c, width, o)
		}
	}
	folded := g.folded()
	if len(folded) == 0 {
		return
	}
	names := Escape(someAddresses(folded))
	if s.Width > 0 {
		names = clip(names, max(s.Width-countWidth-6, addrWidth))
	}
	sg := signOf(g.action)
	fmt.Fprintf(w, "  %s %s  %s\n", s.paint(sg.color, sg.symbol), pad(g.count(), countWidth), s.paint(dim, names))
}

// alwaysListed reports whether a change must have a line of its own.
func alwaysListed(c plan.Change) bool {
	switch c.Shown() {
	case plan.Blocked, plan.Reboot, plan.Drift:
		return true
	}
	return c.Irreversible != "" || c.Note != ""
}

// someAddresses names the first addresses without their kind. Several parts of one file count as
// one name.
func someAddresses(changes []plan.Change) string {
	var names []string
	seen := map[string]bool{}
	for _, c := range changes {
		name := c.Addr.Path()
		if name == "" {
			name = c.Addr.Name()
		}
		if !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	if len(names) <= groupNames+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:groupNames], ", "), len(names)-groupNames)
}

// kindWord is the plain word for addresses of a kind.
func kindWord(k addr.Kind, n int) string {
	words := map[addr.Kind]string{addr.KindFile: "path", addr.KindMeta: "metadata", addr.KindEdit: "edit",
		addr.KindMember: "group member", addr.KindPkg: "package", addr.KindExec: "command", addr.KindAct: "action"}
	word := words[k]
	switch {
	case word == "":
		word = Escape(string(k))
	case k == addr.KindMeta:
		return word
	}
	if n == 1 {
		return word
	}
	return word + "s"
}
