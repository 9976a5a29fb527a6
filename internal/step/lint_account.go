package step

import (
	"strings"

	"fettle.dev/fettle/internal/addr"
)

// ownership checks every account that a step requires.
func (l *linter) ownership(i int, s Step) {
	switch s.Verb {
	case Mkdir, Copy, Link, Meta:
		l.account(i, s, addr.KindUser, "owner", wholeLine)
		l.account(i, s, addr.KindGroup, "group", wholeLine)
	case User:
		if !s.Absent() {
			l.account(i, s, addr.KindGroup, "group", wholeLine)
		}
	case Exec:
		l.account(i, s, addr.KindUser, "user", wholeLine)
	case Member:
		if !s.Absent() {
			l.account(i, s, addr.KindUser, "", 0)
			l.account(i, s, addr.KindGroup, "", 1)
		}
	}
}

// account refuses a name in an attribute, or without key in a subject, if no account with this name
// can exist. Numbers need no account.
func (l *linter) account(i int, s Step, kind addr.Kind, key string, subject int) {
	name := s.Get(key)
	if key == "" {
		name = s.Args[subject]
	}
	if name == "" || isNumber(name) {
		return
	}
	there, known := l.accounts[string(kind)+":"+name]
	if there || (!known && l.inBase(kind, name)) {
		return
	}
	r := s.subjectRange(subject)
	if key != "" {
		r = s.keyRange(key, 0)
	}
	near := l.near(name, l.candidates(kind))
	j, later := l.first[addr.New(kind, name)]
	switch {
	case known:
		l.errorf(s, r, "Account was removed", "An earlier step removes the %s %q. Keep one of the two.", kind, clip(name))
	case later && j > i && !l.list[j].Absent():
		l.errorf(s, r, "Account created too late",
			"The %s %q is created after this step, at %s. Steps run in the order of the list: move its step before this one.",
			kind, clip(name), where(l.list[j], j))
	case l.packages && near == "":
		// The package brings it, as postgresql does its user.
	case l.packages || l.commands:
		l.warnf(s, r, "Account may be missing",
			"No step creates the %s %q, and the base system does not have it; an earlier package or command may create it.%s",
			kind, clip(name), question(near))
	default:
		l.errorf(s, r, "Account is missing",
			"No earlier step creates the %s %q, and the base system has none.%s Create it with a step before this one, or use its number.",
			kind,
			clip(
				name), question(near))
	}
}

func (l *linter) inBase(kind addr.Kind, name string) bool {
	if kind == addr.KindGroup {
		return l.base.HasGroup(name)
	}
	return l.base.HasUser(name)
}

// candidates returns the possible accounts for suggestions: accounts of the list, and Debian's
// accounts that exist in this base.
func (l *linter) candidates(kind addr.Kind) []string {
	text := debianUsers
	if kind == addr.KindGroup {
		text = debianGroups
	}
	var out []string
	for _, n := range strings.Fields(text) {
		if l.inBase(kind, n) {
			out = append(out, n)
		}
	}
	return append(out, l.names...)
}
