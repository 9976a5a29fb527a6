package plan

import (
	"path"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
)

// The probability that a change provides an object that another step needs.
const (
	never    = iota
	maybe    // a command, a started unit, or another version of a package
	possibly // an installed package
	likely   // a package of a similar name, or a command that names the object
	exactly
)

func inWords(need addr.Addr) string {
	switch need.Kind() {
	case addr.KindSysctl:
		return "kernel setting " + need.Name()
	case addr.KindFile:
		return "path " + need.Name()
	}
	return string(need.Kind()) + " " + need.Name()
}

// provides returns the probability that a change provides an object. A removal provides one only if it
// restores an earlier state.
func provides(c Change, need addr.Addr) int {
	s := c.Step
	gone := c.Shown() == Remove || s.Absent() || c.To != nil && c.To.Known() && c.To.Absent()
	if !c.Action.Mutates() || c.Action == Purge || gone {
		return never
	}
	switch c.Addr.Kind() {
	case addr.KindPkg:
		return packageProvides(c, need)
	case addr.KindExec:
		return commandProvides(s, s.Args[1:], need)
	case addr.KindAct:
		if len(s.Args) > 2 && s.Args[0] == "run" {
			return commandProvides(s, s.Args[2:], need)
		}
		return startProvides(need)
	case addr.KindUnit:
		if s.Get("active") == "true" {
			return startProvides(need)
		}
	case addr.KindUser:
		return userProvides(c, s, need)
	case addr.KindGroup:
		return sure(c.Addr == need)
	case addr.KindFile, addr.KindEdit:
		return sure(pathProvides(c, s, need))
	}
	return never
}

// packageProvides is provides for packages. An installed package provides its files and the files of
// its dependencies. An object that is missing despite an installed version can come with another
// version, and not with a change of the hold only.
func packageProvides(c Change, need addr.Addr) int {
	switch from, to := c.From, c.To; {
	case from == nil || to == nil || from.Package() == nil || to.Package() == nil || from.Package().Version == "":
		if alike(c.Addr.Name(), stem(need)) {
			return likely
		}
		return possibly
	case from.Package().Version == to.Package().Version && !from.Package().Unfinished():
		return never
	}
	return maybe
}

// alike reports whether one name contains the other or is similar to it.
func alike(a, b string) bool {
	const limit = 3 // edits
	return b != "" && (strings.Contains(a, b) || strings.Contains(b, a) || diag.Distance(a, b, limit) < limit)
}

// commandProvides is provides for commands. A command provides the path in creates. It can have any
// other effect, but objects that its words name are more probable.
func commandProvides(s step.Step, argv []string, need addr.Addr) int {
	if p := s.Get("creates"); p != "" && makesAt(p, need) {
		return exactly
	}
	if harmless(argv) {
		return never
	}
	if slices.ContainsFunc(argv, func(w string) bool { return strings.Contains(w, need.Name()) }) {
		return likely
	}
	return maybe
}

// harmless reports whether a command only prints, waits, or fetches package lists.
func harmless(argv []string) bool {
	if len(argv) == 0 {
		return true
	}
	switch path.Base(argv[0]) {
	case "true", "false", "echo", "printf", "test", "[", "sleep":
		return true
	case "apt-get", "apt":
		return slices.Contains(argv, "update") && !slices.ContainsFunc(argv, func(w string) bool {
			return strings.Contains(w, "install") || strings.Contains(w, "upgrade")
		})
	}
	return false
}

func sure(yes bool) int {
	if yes {
		return exactly
	}
	return never
}

// startProvides is provides for the start of a unit, which can create files and load kernel modules.
func startProvides(need addr.Addr) int {
	if need.Kind() == addr.KindFile || need.Kind() == addr.KindSysctl {
		return maybe
	}
	return never
}

// userProvides is provides for an account: the account, a group of its name, and its home directory.
func userProvides(c Change, s step.Step, need addr.Addr) int {
	home := s.Get("home")
	if home == "" {
		home = path.Join("/home", c.Addr.Name())
	}
	group := s.Get("group") == "" && need == addr.New(addr.KindGroup, c.Addr.Name())
	inHome := need.Kind() == addr.KindFile && s.Get("create_home") == "true" && under(need.Name(), home)
	return sure(c.Addr == need || group || inHome)
}

// under reports whether a path is dir or below it.
func under(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

// pathProvides reports whether a change of a path creates the needed object.
func pathProvides(c Change, s step.Step, need addr.Addr) bool {
	p := c.Addr.Path()
	whole := s.Verb == step.Link ||
		c.To != nil && c.To.File() != nil && (c.To.File().Type == image.Symlink || c.To.File().Tree != "")
	around := func(d string) bool { return under(d, p) }
	switch need.Kind() {
	case addr.KindFile:
		whole = whole && under(need.Name(), p)
	case addr.KindProgram:
		whole = whole && slices.ContainsFunc(programDirs, around)
	case addr.KindUnit:
		whole = whole && slices.ContainsFunc(unitDirs, around)
	default:
		whole = false
	}
	return whole || makesAt(p, need)
}

// makesAt reports whether a file at a path is, or creates, the needed object.
func makesAt(p string, need addr.Addr) bool {
	switch need.Kind() {
	case addr.KindFile:
		return under(p, need.Name())
	case addr.KindProgram:
		return path.Base(p) == need.Name() && slices.Contains(programDirs, path.Dir(p))
	case addr.KindUnit:
		return makesUnit(p, need.Name())
	}
	return false
}

// Dirs returns the directories of programs or units on a host, nil for other kinds.
func Dirs(kind addr.Kind) []string {
	switch kind {
	case addr.KindProgram:
		return slices.Clone(programDirs)
	case addr.KindUnit:
		return slices.Clone(unitDirs)
	}
	return nil
}

// programDirs are the directories for programs without a slash in their name.
var programDirs = []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}

// unitDirs are the directories of unit files.
var unitDirs = []string{"/etc/systemd/system", "/usr/local/lib/systemd/system",
	"/usr/lib/systemd/system", "/lib/systemd/system", "/run/systemd/system"}

// generators are the files from which systemd generates units with other names.
var generators = []string{"/etc/fstab", "/etc/crypttab", "/etc/init.d", "/etc/containers/systemd",
	"/usr/share/containers/systemd", "/etc/systemd/system-generators", "/etc/openvpn"}

// makesUnit reports whether a file creates a unit: it is the unit file, its template, or the input of
// a generator.
func makesUnit(p, unit string) bool {
	if slices.ContainsFunc(generators, func(g string) bool { return under(p, g) }) {
		return true
	}
	name, suffix := strings.TrimSuffix(unit, path.Ext(unit)), path.Ext(unit)
	template, _, instance := strings.Cut(name, "@")
	base := path.Base(p)
	return slices.Contains(unitDirs, path.Dir(p)) &&
		(base == unit || base == unit+".service" || instance && base == template+"@"+suffix)
}

// stem returns the part of a name that is compared: a unit without its type and instance, a path
// without its directory.
func stem(need addr.Addr) string {
	switch name := need.Name(); need.Kind() {
	case addr.KindUnit:
		base, _, _ := strings.Cut(strings.TrimSuffix(name, path.Ext(name)), "@")
		return base
	case addr.KindFile:
		return path.Base(name)
	default:
		return name
	}
}
