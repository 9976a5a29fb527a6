package cli

import (
	"maps"
	"strings"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/here"
	"fettle.dev/fettle/internal/lang/query"
)

// RunOptions are the options of every run of this command line: user, origin and command line.
func (s *Session) RunOptions() executor.Options {
	return executor.Options{User: s.User(), From: s.from(), Command: s.Command, Version: s.App.Version,
		IgnoreFreeze: s.IgnoreFreeze, WithoutLocks: s.WithoutLocks}
}

// User is the login name, with the one who called sudo in front.
func (s *Printer) User() string { return here.User(s.App.Env, s.App.Login) }

// from returns the origin of the command.
func (s *Printer) from() string {
	if c := s.App.Env("SSH_CONNECTION"); c != "" {
		address, _, _ := strings.Cut(c, " ")
		return JoinWords("ssh", address, s.App.Terminal.Name)
	}
	if s.App.Env("INVOCATION_ID") != "" && !s.App.Terminal.In {
		return "service"
	}
	if s.App.Terminal.In {
		return JoinWords("terminal", s.App.Terminal.Name)
	}
	return "script"
}

// typed returns the command line for the history. It omits the values of variables, of the environment
// and of secret parameters, because they can be secrets.
func typed(args []string, secret map[string]bool) string {
	words := []string{"fettle"}
	hide, behind := false, false
	for _, a := range args {
		switch {
		case behind:
		case a == "--":
			behind = true
		case hide:
			a, hide = hideValue(a), false
		case a == "--var" || a == "--env":
			hide = true
		case strings.HasPrefix(a, "--var=") || strings.HasPrefix(a, "--env="):
			a = a[:len("--var=")] + hideValue(a[len("--var="):])
		default:
			if name, _, ok := strings.Cut(a, "="); ok && secret[name] {
				a = hideValue(a)
			}
		}
		words = append(words, a)
	}
	return strings.Join(words, " ")
}

func hideValue(v string) string {
	name, _, _ := strings.Cut(v, "=")
	return name + "=…"
}

// HideTyped removes the values of secret parameters from the command line for the histories, and
// returns the values.
func (l *typedLine) HideTyped(params []query.Param, given map[string]string) []string {
	secret, values := maps.Clone(l.secret), []string{}
	for _, p := range params {
		if p.Secret && given[p.Name] != "" {
			if secret == nil {
				secret = map[string]bool{}
			}
			secret[p.Name] = true
			values = append(values, given[p.Name])
		}
	}
	l.secret, l.Command = secret, typed(l.args, secret)
	return values
}
