package here

import "strings"

// User returns the login name of the user that runs this process. If the user called
// sudo, the name of the caller is in front. env is the environment. login looks up the
// name; it may be nil.
func User(env func(string) string, login func() string) string {
	name := env("USER")
	if name == "" {
		name = env("LOGNAME")
	}
	if name == "" && login != nil {
		name = login()
	}
	if name == "" {
		name = "root"
	}
	if caller := env("SUDO_USER"); caller != "" && caller != name {
		return caller + " as " + name
	}
	return name
}

// From describes, for the history, the origin of an SSH connection: the given address, or
// otherwise the address in SSH_CONNECTION.
func From(given string, env func(string) string) string {
	if given == "" {
		given, _, _ = strings.Cut(env("SSH_CONNECTION"), " ")
	}
	return strings.TrimSpace("ssh " + given)
}
