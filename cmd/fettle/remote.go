package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/term"

	"fettle.dev/fettle/internal/executor/here"
	"fettle.dev/fettle/internal/executor/ssh"
	"fettle.dev/fettle/internal/ui/cli"
)

// connector connects to hosts through the user's own OpenSSH. The binary to copy there is read once
// for all connections.
func connector() func(context.Context, ssh.Address, ssh.Options, bool) (cli.Remote, error) {
	programs := sync.OnceValues(func() (*ssh.Programs, error) {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("cannot find this program to bring it to a target: %w", err)
		}
		return ssh.NewPrograms(self, carried()), nil
	})
	return func(ctx context.Context, a ssh.Address, o ssh.Options, kept bool) (cli.Remote, error) {
		var err error
		if o.Programs, err = programs(); err != nil {
			return nil, err
		}
		if kept {
			o.Control = controlDir()
		}
		o.Env = os.Environ()
		s, err := ssh.Open(ctx, a, o)
		if err != nil {
			return nil, err
		}
		return s, nil
	}
}

// controlDir returns the directory for the sockets of persistent connections, private to the user;
// "" if there is none, or if its name is too long for a socket.
func controlDir() string {
	dir := os.Getenv("XDG_RUNTIME_DIR")
	if dir == "" && os.Geteuid() == 0 {
		dir = "/run"
	}
	if dir == "" {
		home, err := os.UserCacheDir()
		if err != nil {
			return ""
		}
		dir = home
	}
	dir = filepath.Join(dir, "fettle", "ssh")
	const longest = 108 - 1 - 40 - 1 - 17 - 1 // a socket path, with the name of the connection and the suffix that ssh adds temporarily
	if len(dir) > longest || os.MkdirAll(dir, 0o700) != nil {
		return ""
	}
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || info.Mode().Perm()&0o077 != 0 {
		return ""
	}
	return dir
}

// ownCache returns the directory in which commands on other hosts cache a repository.
func ownCache() (string, error) {
	home, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return here.OwnDirectory(filepath.Join(home, "fettle", "repositories"))
}

// password reads a password from the terminal without echo.
func password(prompt string) (string, error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return "", errors.New("cannot ask for a password: there is no terminal")
	}
	defer tty.Close()
	fmt.Fprint(tty, prompt)
	text, err := term.ReadPassword(int(tty.Fd()))
	fmt.Fprintln(tty)
	return string(text), err
}
