package here

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
