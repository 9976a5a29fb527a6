package assign

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// Why explains the assignment of a target, one sentence per line. If module is the directory of a
// module, it also explains this module.
func (o Output) Why(target fleet.TargetID, module string) []string {
	d, ok := o.thoughts[target]
	if !ok {
		return []string{"the registry has no entry of this target"}
	}
	lines := []string{fmt.Sprintf("%s is %s%s", d.name, d.standing, labelText(d.labels))}
	for _, p := range d.pins {
		lines = append(lines, pinText(p))
	}
	if len(d.pins) == 0 || d.pins[0].Module != "" {
		lines = append(lines, fmt.Sprintf("it follows %s, which is at %.12s", o.in.Branch, o.in.Refs[o.in.Branch].Commit))
	}
	if module != "" {
		lines = append(lines, o.whyModule(d, module)...)
	}
	if len(d.pins) == 0 || d.pins[0].Module != "" {
		for _, part := range []string{module, RootPart} {
			if why := o.whyReplaced(part); why != "" {
				lines = append(lines, why)
			}
		}
	}
	if d.frozen != "" {
		lines = append(lines, "it is frozen: "+d.frozen)
	}
	if d.kept != "" {
		lines = append(lines, "its assignment does not change: "+d.kept)
	}
	if d.grant != "" {
		lines = append(lines, d.grant)
	}
	switch {
	case d.issued > 0:
		lines = append(lines, fmt.Sprintf("it gets generation %d of epoch %d", d.issued, o.in.Epoch))
	case d.epoch > 0:
		lines = append(lines, fmt.Sprintf("it has generation %d of epoch %d", d.generation, d.epoch))
	default:
		lines = append(lines, "it has no assignment")
	}
	return lines
}

// Written tells o that all its assignments were written. Afterwards, Why describes them as present.
func (o Output) Written() {
	for _, d := range o.thoughts {
		if d.issued == 0 {
			continue
		}
		d.epoch, d.generation, d.issued = o.in.Epoch, d.issued, 0
		if !d.waits {
			d.grant = ""
		}
	}
}

// whyModule explains the origin of a module, its revision, its needs, and the modules that need it.
func (o Output) whyModule(d *thought, module string) []string {
	ref := o.in.Branch
	if len(d.pins) > 0 && d.pins[0].Module == "" {
		ref = d.pins[0].Ref
	}
	var lines []string
	conf := o.in.Revisions[o.in.Refs[ref].Commit].Targets[d.name]
	if i := slices.IndexFunc(conf.Modules, func(m Module) bool { return m.Directory == module }); i >= 0 {
		lines = append(lines, module+" is assigned by "+strings.Join(conf.Modules[i].From, ", "))
	} else {
		lines = append(lines, "no target group, role or target assigns "+module+" to it")
	}
	for _, m := range d.modules {
		if m.Module == module {
			lines = append(lines, fmt.Sprintf("%s is at %.12s of %s", module, m.Revision.Commit, m.Revision.Branch))
			newest := o.in.Refs[m.Revision.Branch].Commit
			if newest != "" && newest != m.Revision.Commit && d.kept == "" && !d.waits {
				lines = append(lines, fmt.Sprintf("the module is unchanged in %.12[2]s, the newest commit of %[1]s",
					m.Revision.Branch, newest))
			}
			for _, n := range m.Needs {
				lines = append(lines, "it needs "+needText(n.Module, n))
			}
		}
	}
	for _, m := range d.modules {
		for _, n := range m.Needs {
			if n.Module == module {
				lines = append(lines, "it is needed by "+needText(m.Module, n))
			}
		}
	}
	return lines
}

func needText(other string, n fleet.Need) string {
	if n.Layer {
		return fmt.Sprintf("%s (%s, a layer)", other, n.Level)
	}
	return fmt.Sprintf("%s (%s)", other, n.Level)
}

func labelText(labels map[string]string) string {
	if len(labels) == 0 {
		return ""
	}
	var out []string
	for k, v := range labels {
		out = append(out, k+"="+v)
	}
	slices.Sort(out)
	return ", with " + strings.Join(out, " ")
}

func pinText(p fleet.Pin) string {
	if p.Environment != "" {
		return environmentText(p)
	}
	text := "it is pinned"
	if p.Module != "" {
		text = p.Module + " is pinned"
	}
	return text + " to " + p.Ref + " by " + p.By + untilText(p)
}

func untilText(p fleet.Pin) (text string) {
	if p.Until != 0 {
		text = " until " + time.Unix(p.Until, 0).UTC().Format("2006-01-02 15:04 MST")
	}
	if p.Reason != "" {
		text += ": " + p.Reason
	}
	return text
}

// environmentText explains a pin of an environment that an operator created.
func environmentText(p fleet.Pin) string {
	what := "its content"
	if p.Module != "" {
		what = p.Module
	}
	return fmt.Sprintf("it is in the environment %s of %s%s, so %s follows %s", p.Environment, p.By, untilText(p), what,
		p.Ref)
}
