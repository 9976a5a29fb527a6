package plan

import (
	"path"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/step"
)

// Shown returns the action under which a change is displayed and counted. A removal that restores an
// earlier state is a restore, and a command that restarts the host is a reboot.
func (c Change) Shown() Action {
	switch {
	case c.Action == Remove && c.To != nil && c.To.Known() && c.To.Exec() == nil && !c.To.Absent() &&
		(c.To.Unit() == nil || c.To.Unit().Loaded):
		return Restore
	case c.Action == Run && reboots(c.Step):
		return Reboot
	}
	return c.Action
}

// reboots reports whether a command restarts the host, immediately or later.
func reboots(s step.Step) bool {
	argv := s.Args
	switch {
	case s.Verb == step.Exec && len(argv) > 1:
		argv = argv[1:]
	case s.Verb == step.Act && len(argv) > 2 && argv[0] == "run":
		argv = argv[2:]
	default:
		return false
	}
	return rebootsBy(argv)
}

// rebootsBy reports whether a command line restarts the host. It recognizes simple commands in a script of sh.
func rebootsBy(argv []string) bool {
	if len(argv) > 0 && argv[0] == "exec" {
		argv = argv[1:]
	}
	if len(argv) == 0 {
		return false
	}
	switch path.Base(argv[0]) {
	case "sh":
		return len(argv) > 2 && argv[1] == "-c" && slices.ContainsFunc(
			strings.FieldsFunc(argv[2], func(r rune) bool { return strings.ContainsRune(";&|\n", r) }),
			func(part string) bool { return rebootsBy(strings.Fields(part)) })
	case "reboot":
		return true
	case "shutdown":
		return slices.ContainsFunc(argv[1:], func(w string) bool {
			return w == "--reboot" || strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--") && strings.Contains(w, "r")
		})
	case "systemctl":
		return slices.ContainsFunc(argv[1:], func(w string) bool {
			return w == "reboot" || w == "soft-reboot" || w == "kexec"
		})
	}
	return false
}

// Count returns the number of changes by displayed action.
func (p *Plan) Count() map[Action]int {
	n := map[Action]int{}
	for _, c := range p.Changes {
		n[c.Shown()]++
	}
	return n
}
