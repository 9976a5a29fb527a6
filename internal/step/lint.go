package step

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/diag"
)

// LintOptions are a repository's additional requirements. The zero value has none.
type LintOptions struct {
	// RequireUndo refuses an EXEC without undo.
	RequireUndo bool
}

// Lint returns the errors of a list as a whole, which single lines do not show: see
// LintOptions.Lint, with the zero value.
func Lint(list List, base Base) diag.List { return LintOptions{}.Lint(list, base) }

// Lint returns the errors of a list that Resolve has completed. Errors are steps that cannot work,
// or cannot be undone although that is required. Warnings are steps that work only by chance. Lint
// is pure; diagnostics are in the order of the list.
func (o LintOptions) Lint(list List, base Base) diag.List {
	l := linter{LintOptions: o, base: base, list: list}
	l.survey()
	for i, s := range list {
		if !s.whole() {
			l.errorf(s, s.Range, "Incomplete step", "%s has no subject: the program that created this step did not check it.",
				clip(s.String()))
			continue
		}
		if len(l.diags) >= maxDiagnostics {
			l.errorf(s, s.Range, "Too many errors",
				"The first %d errors are shown, and the remaining list was not checked. Correct these errors first.",
				maxDiagnostics)
			break
		}
		l.step(i, s)
		l.pass(s)
	}
	return l.diags
}

// linter walks a list once, with an overview of all of it.
type linter struct {
	LintOptions
	base  Base
	list  List
	diags diag.List

	first  map[addr.Addr]int // where an address is first written
	last   map[addr.Addr]int // where an address is last written
	phases map[addr.Addr]int // the current phase of an address
	dirs   []string          // every directory that the list makes
	names  []string          // every account that the list makes
	addrs  []string          // every address

	// The effects of the earlier steps.
	made     map[string]bool // directories
	accounts map[string]bool // "user:x" and "group:x"; false for a removed account
	packages bool            // a package was installed: it can contain more
	commands bool            // a command ran: its effects are unknown
}

func (l *linter) survey() {
	l.first, l.last, l.phases = map[addr.Addr]int{}, map[addr.Addr]int{}, map[addr.Addr]int{}
	l.made, l.accounts = map[string]bool{}, map[string]bool{}
	for i, s := range l.list {
		a := s.Addr()
		if a == "" || !s.whole() {
			continue
		}
		if _, again := l.first[a]; !again {
			l.first[a] = i
			l.addrs = append(l.addrs, string(a))
		}
		l.last[a] = i
		switch {
		case s.Verb == Mkdir:
			l.dirs = append(l.dirs, s.Path())
		case (s.Verb == User || s.Verb == Group) && !s.Absent():
			l.names = append(l.names, s.Args[0])
		}
	}
}

// pass records the effects of s for later steps.
func (l *linter) pass(s Step) {
	switch {
	case s.Addr() == "":
	case s.Verb == Mkdir:
		l.made[s.Path()] = true
	case s.Verb == User:
		l.passUser(s)
	case s.Verb == Group:
		l.accounts["group:"+s.Args[0]] = !s.Absent()
	case s.Verb == Pkg:
		l.packages = l.packages || !s.Absent()
	case s.Verb == Exec:
		l.commands = true
		if p := s.Get("creates"); p != "" {
			l.made[p] = true
		}
	}
}

// passUser notes the group that useradd makes with a user, and the home.
func (l *linter) passUser(s Step) {
	name := s.Args[0]
	l.accounts["user:"+name] = !s.Absent()
	if _, own := s.Lookup("group"); !own {
		l.accounts["group:"+name] = !s.Absent()
	}
	if s.Absent() || s.Get("create_home") != "true" {
		return
	}
	home := "/home/" + name
	if h, ok := s.Lookup("home"); ok {
		home = h
	}
	l.made[home] = true
}

func (l *linter) step(i int, s Step) {
	if s.Verb == Include {
		l.errorf(s, s.subjectRange(0), "Include was not read",
			"The list contains an unresolved INCLUDE, so it cannot be checked completely. Resolve the INCLUDE first.")
		return
	}
	l.repeated(i, s)
	if p := s.Path(); p != "" && l.allowed(s, p) {
		l.paths(i, s, p)
	}
	l.ownership(i, s)
	switch s.Verb {
	case Exec:
		if _, ok := s.Lookup("undo"); !ok && l.RequireUndo {
			l.errorf(s, s.Range, "Irreversible command",
				"EXEC has no undo, and this repository requires that every step can be undone. Add undo=\"…\", the command that undoes it.")
		}
	case Act:
		l.triggers(i, s)
	case Unit:
		l.unitSuffix(s, 0)
	case Edit:
		l.ownLine(s)
	}
}

// ownLine refuses an expression that does not find the line which replaces the one it found. The
// line of a secret is not known here.
func (l *linter) ownLine(s Step) {
	line, said := s.Lookup("line")
	expr, found := s.Lookup("match")
	if _, secret := s.Secret(); secret || !said || !found || s.Absent() {
		return
	}
	if re, err := regexp.Compile(expr); err == nil && !re.MatchString(line) {
		l.errorf(s, s.keyRange("match", 0), "Match does not find its own line",
			"The line does not match this expression, so after its next change the old line would stay in addition to the new line. Write an expression that matches both the line to replace and the new line.")
	}
}

// whole reports whether the step has a known verb and the required subjects, like all steps of
// Parse and New.
func (s Step) whole() bool {
	sh := shapes[string(s.Verb)]
	return sh != nil && len(s.Args) >= sh.least
}

// near is like closest, as long as there are few errors: in a long list it costs more than reading.
func (l *linter) near(written string, candidates []string) string {
	const enough = 100
	if len(l.diags) > enough {
		return ""
	}
	return closest(written, candidates)
}

func (l *linter) errorf(s Step, r diag.Range, summary, detail string, args ...any) {
	l.diags = append(l.diags, s.diagnostic(diag.Error, r, summary, fmt.Sprintf(detail, args...)))
}

func (l *linter) warnf(s Step, r diag.Range, summary, detail string, args ...any) {
	l.diags = append(l.diags, s.diagnostic(diag.Warning, r, summary, fmt.Sprintf(detail, args...)))
}

// where names a step's place in a message.
func where(s Step, i int) string {
	if p := s.Range.String(); p != "" {
		return p
	}
	if s.Source != "" {
		return s.Source
	}
	return "step " + strconv.Itoa(i+1)
}

// repeated refuses an address that was already written in the same phase, and phases that are not
// consecutive. Only ACT can be repeated.
func (l *linter) repeated(i int, s Step) {
	a, k := s.Addr(), s.Phase()
	before := l.phases[a]
	l.phases[a] = k
	j, ok := l.first[a]
	if !ok || s.Verb == Act {
		return
	}
	if k > 1 {
		if k != before+1 {
			l.errorf(s, s.Range, "Phase out of order",
				"%s has phase %d here, after phase %d. Number the phases of an address 1, 2, 3, without gaps; phase 1 is not written.",
				clip(
					string(a)), k, before)
		}
		return
	}
	if j == i {
		return
	}
	first := l.list[j]
	if s.Same(first) {
		l.errorf(s, s.Range, "Address written twice",
			"%s is already written by the same line at %s. Remove one of the two.", clip(string(a)), where(first, j))
		return
	}
	l.errorf(s, s.Range, "Address written twice",
		"%s is already written at %s: %s. The two steps would undo each other in every run. Keep one.", clip(string(a)),
		where(first, j), clip(first.Text()))
}

// triggers refuses an action whose trigger no step of the list writes.
func (l *linter) triggers(i int, s Step) {
	if s.Args[0] != "run" {
		l.unitSuffix(s, 1)
	}
	late, all := 0, 0
	for _, key := range []string{"on", "on_failure"} {
		for n, v := range s.All(key) {
			all++
			at, ok := l.first[addr.Addr(v)]
			switch {
			case !ok:
				l.errorf(s, s.keyRange(key, n), "Unknown trigger",
					"No step of this list writes %q, so the action would never run.%s", clip(v), question(l.near(v, l.addrs)))
			case at > i:
				late++
			}
		}
	}
	for n, v := range s.All("behind") {
		if _, ok := l.first[addr.Addr(v)]; !ok {
			l.errorf(s, s.keyRange("behind", n), "Unknown address",
				"No step of this list writes %q, so it cannot be after the block.%s", clip(v), question(l.near(v, l.addrs)))
		}
	}
	_, rescues := s.Lookup("rescue")
	switch {
	case !rescues && len(s.All("behind")) > 0:
		l.errorf(s, s.keyRange("behind", 0), "Attribute without effect",
			"behind= lists the addresses after a block that the action rescues. Add rescue=NAME, or remove behind=.")
	case rescues && (len(s.All("on_failure")) == 0 || len(s.All("on")) > 0):
		l.errorf(s, s.keyRange("rescue", 0), "Rescue without a block",
			"An action with rescue= runs only after a failure of the addresses in on_failure=. List the addresses of the block there, and move on= to a line of its own.")
	}
	switch {
	case all == 0:
		l.warnf(s, s.Range, "Action without trigger",
			"The action runs only after a change of an address in on=, and there is no on=. Add on=KIND:NAME.")
	case late == all && l.last[s.Addr()] == i:
		l.warnf(s, s.Range, "Action before its triggers",
			"All steps that trigger the action are after it. Move the action after these steps.")
	}
}

func (l *linter) unitSuffix(s Step, i int) {
	suffixes := []string{".service", ".socket", ".target", ".timer", ".path", ".mount", ".automount", ".swap", ".slice",
		".scope", ".device"}
	name := s.Args[i]
	if !slices.ContainsFunc(suffixes, func(x string) bool { return len(name) > len(x) && name[len(name)-len(x):] == x }) {
		l.warnf(s, s.subjectRange(i), "Unit without a type", "%q has no type of unit as its suffix. Did you mean %q?",
			clip(name), clip(name+".service"))
	}
}
