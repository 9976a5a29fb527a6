package cli

import (
	"strings"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/here"
)

// runOptions are the options of every run of this command line: user, origin and command line.
func (s *session) runOptions() executor.Options {
	return executor.Options{User: s.user(), From: s.from(), Command: s.command, Version: s.app.Version,
		IgnoreFreeze: s.ignoreFreeze}
}

// user is the login name, with the one who called sudo in front.
func (s *printer) user() string { return here.User(s.app.Env, s.app.Login) }

// from returns the origin of the command.
func (s *printer) from() string {
	if c := s.app.Env("SSH_CONNECTION"); c != "" {
		address, _, _ := strings.Cut(c, " ")
		return join("ssh", address, s.app.Terminal.Name)
	}
	if s.app.Env("INVOCATION_ID") != "" && !s.app.Terminal.In {
		return "service"
	}
	if s.app.Terminal.In {
		return join("terminal", s.app.Terminal.Name)
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
