package repo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// Access is the authentication of a service at a repository. It uses only files that the service's
// operator names, and no configuration of the user that runs the service. The zero value has access
// to public repositories.
type Access struct {
	// Key is the private key for ssh, and KnownHosts the file with the allowed host keys. Without
	// both, ssh is not used.
	Key, KnownHosts string
	// Credentials holds lines https://USER:TOKEN@HOST, as git credential-store has.
	Credentials string
	// Authority has the root certificates for https, instead of the system's.
	Authority string
}

var plainFile = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^/[A-Za-z0-9/._@%+:,-]*$`) })

// check allows only paths without characters that are special in a shell, because git starts ssh
// through a shell.
func (a Access) check() error {
	for _, p := range []string{a.Key, a.KnownHosts, a.Credentials, a.Authority} {
		if p != "" && (!plainFile().MatchString(p) || filepath.Clean(p) != p) {
			return fmt.Errorf("cannot use the file %q: give an absolute path of letters, digits and . _ - + @", shorten(p))
		}
	}
	if (a.Key == "") != (a.KnownHosts == "") {
		return fmt.Errorf("cannot use ssh with only one of key and known_hosts: set both")
	}
	return nil
}

// readable returns an error about a file that this user is not allowed to read: ssh would report
// only that the other side refused the user.
func (a *Access) readable() error {
	if a == nil {
		return nil
	}
	for _, p := range []string{a.Key, a.KnownHosts, a.Credentials, a.Authority} {
		if p == "" {
			continue
		}
		f, err := os.Open(p)
		if err == nil {
			err = f.Close()
		}
		if errors.Is(err, fs.ErrPermission) {
			return fmt.Errorf(
				"cannot use %s: user %s is not allowed to read it. Give it to this user, in a directory that this user can enter",
				p,
				userName(
					uint32(os.Geteuid())))
		}
	}
	return nil
}

// With returns the same repository with only this access.
func (r Remote) With(a Access) (Remote, error) {
	if err := a.check(); err != nil {
		return Remote{}, err
	}
	r.access = &a
	return r, nil
}

// settings of git, for its command line.
func (a *Access) settings() []string {
	if a == nil {
		return nil
	}
	argv := []string{"-c", "credential.helper="}
	if a.Credentials != "" {
		argv = append(argv, "-c", "credential.helper=store --file="+a.Credentials)
	}
	if a.Authority != "" {
		argv = append(argv, "-c", "http.sslCAInfo="+a.Authority)
	}
	return append(argv, "-c", "http.followRedirects=initial", "-c", "core.askPass=false")
}

// environ returns the environment of git: the user's without git's own settings, or almost empty.
func (a *Access) environ(user []string) []string {
	var out []string
	for _, e := range user {
		name, _, _ := strings.Cut(e, "=")
		switch {
		case a == nil && (!strings.HasPrefix(e, "GIT_") || strings.HasPrefix(e, "GIT_SSH") || name == "GIT_CONFIG_GLOBAL"):
			out = append(out, e)
		case a != nil && (name == "PATH" || strings.HasSuffix(strings.ToLower(name), "_proxy")):
			out = append(out, e)
		}
	}
	if a == nil {
		return out
	}
	// ssh refuses unknown hosts and never asks for a password.
	ssh := "false"
	if a.Key != "" {
		ssh = "ssh -F /dev/null -i " + a.Key + " -o IdentitiesOnly=yes -o IdentityAgent=none -o UserKnownHostsFile=" +
			a.KnownHosts +
			" -o GlobalKnownHostsFile=/dev/null -o StrictHostKeyChecking=yes -o BatchMode=yes -o ConnectTimeout=20 -o ServerAliveInterval=15 -o ForwardAgent=no -o PermitLocalCommand=no"
	}
	return append(out, "HOME=/nonexistent", "XDG_CONFIG_HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_ATTR_NOSYSTEM=1", "GIT_SSH_COMMAND="+ssh, "GIT_SSH_VARIANT=ssh")
}
