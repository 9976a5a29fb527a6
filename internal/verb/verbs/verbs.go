// Package verbs is the list of all verbs, written by hand in one place.
//
//	v, ok := verbs.For(step.Copy)
package verbs

import (
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
	"fettle.dev/fettle/internal/verb/account"
	"fettle.dev/fettle/internal/verb/edit"
	"fettle.dev/fettle/internal/verb/exec"
	"fettle.dev/fettle/internal/verb/paths"
	"fettle.dev/fettle/internal/verb/pkg"
	"fettle.dev/fettle/internal/verb/sysctl"
	"fettle.dev/fettle/internal/verb/unit"
)

// For gives the verb behind a step. ok is false for ACT, WAIT, CHECK and INCLUDE,
// which own no address.
func For(v step.Verb) (verb.Verb, bool) {
	switch v {
	case step.Mkdir:
		return paths.Mkdir{}, true
	case step.Copy:
		return paths.Copy{}, true
	case step.Link:
		return paths.Link{}, true
	case step.Meta:
		return paths.Meta{}, true
	case step.Rm:
		return paths.Rm{}, true
	case step.Edit:
		return edit.Edit{}, true
	case step.User:
		return account.User{}, true
	case step.Group:
		return account.Group{}, true
	case step.Member:
		return account.Member{}, true
	case step.Pkg:
		return pkg.Pkg{}, true
	case step.Unit:
		return unit.Unit{}, true
	case step.Sysctl:
		return sysctl.Sysctl{}, true
	case step.Exec:
		return exec.Exec{}, true
	}
	return nil, false
}
