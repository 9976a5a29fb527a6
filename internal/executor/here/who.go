package here

import "strings"

// User is the login name of whoever runs this process, with the one who called sudo in
// front. env is the environment; login looks the name up, and may be nil.
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

// From is how a connection of SSH came to this process, for the history: from the address
// that is given, and else from that which sshd tells.
func From(given string, env func(string) string) string {
	if given == "" {
		given, _, _ = strings.Cut(env("SSH_CONNECTION"), " ")
	}
	return strings.TrimSpace("ssh " + given)
}
