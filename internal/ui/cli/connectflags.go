package cli

import (
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"fettle.dev/fettle/internal/executor/ssh"
	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/lang/query"
)

// connectFlags are how a target is reached, where the command line says so.
type connectFlags struct {
	SSH          string
	Via          Choice
	sudo         bool
	askSudo      bool
	sudoFile     string // of the password
	acceptNew    bool
	OnDisconnect Choice
	SignKey      string // the file of the key for signed commands
}

func (r *connectFlags) flags(f *pflag.FlagSet) {
	r.Via = Choice{Value: viaAny, Of: []string{viaAny, ViaSSH, ViaHub}}
	r.OnDisconnect = Choice{Value: wire.Finish, Of: []string{wire.Finish, wire.Stop, wire.Revert}}
	f.StringVar(&r.SSH, "ssh", "", "work on `[USER@]HOST` over SSH, regardless of the repository")
	f.Var(&r.Via, "via", "any: as the repository declares, otherwise through the hub; ssh: over SSH; hub: through the hub")
	f.BoolVar(&r.sudo, "sudo", false, "over SSH: become root on the host with sudo")
	f.BoolVar(&r.askSudo, "ask-sudo-password", false, "over SSH: prompt for the sudo password")
	f.StringVar(&r.sudoFile, "sudo-password-file", "",
		"over SSH: read the sudo password from the first line of this `FILE`")
	f.BoolVar(&r.acceptNew, "accept-new", false, "over SSH: trust the key of an unknown host")
	f.StringVar(&r.SignKey, "sign-key", "",
		"through a hub: sign commands with the SSH key in this `FILE` if the host requires signatures; \"none\" disables this (default: the key of the login)")
	f.Var(&r.OnDisconnect, "on-disconnect",
		"on another host: when the connection is lost, finish the run, stop it, or undo it")
}

// SSHOptions are the options of SSH connections on the command line.
func (s *Session) SSHOptions() ssh.Options {
	o := ssh.Options{AcceptNew: s.ConnectOpts.acceptNew, SudoPassword: s.sudoPassword, State: s.State,
		Wire: wire.Options{OnDisconnect: s.ConnectOpts.OnDisconnect.Value, Identities: s.Identities}}
	if s.Root != "/" {
		o.Root = s.Root
	}
	if s.App.Terminal.In && !s.JSON {
		o.Login = s.App.Console.Interactive
	}
	return o
}

// sudoPassword returns the password for sudo on targets, and asks for it once.
func (s *Session) sudoPassword() (string, error) {
	s.sudo.once.Do(func() { s.sudo.text, s.sudo.err = readSudoPassword(s) })
	return s.sudo.text, s.sudo.err
}

// sudoAnswer is the password of sudo, which is read once for all targets.
type sudoAnswer struct {
	once sync.Once
	text string
	err  error
}

func readSudoPassword(s *Session) (string, error) {
	switch {
	case s.ConnectOpts.sudoFile != "":
		b, err := os.ReadFile(s.ConnectOpts.sudoFile)
		if err != nil {
			return "", fmt.Errorf("cannot read the password of sudo: %w", err)
		}
		line, _, _ := strings.Cut(string(b), "\n")
		return line, nil
	case !s.ConnectOpts.askSudo:
		return "", nil
	case s.App.Console.Password == nil || !s.App.Terminal.In:
		return "", Refuse(
			"Write it to a file of your own: --sudo-password-file FILE\nOr allow sudo without a password there: NOPASSWD",
			"cannot prompt for the sudo password: there is no terminal")
	}
	return s.App.Console.Password("Password for sudo: ")
}

// given reads --ssh, as one would write it behind ssh.
func (l *links) given() (way, error) {
	a := way{Address: ssh.Address{Host: l.ConnectOpts.SSH, Sudo: l.ConnectOpts.sudo}}
	if user, host, ok := strings.Cut(a.Host, "@"); ok {
		a.User, a.Host = user, host
	}
	if err := (query.SSH{Host: a.Host, User: a.User}).Valid(); err != nil {
		return way{}, Refuse("Use --ssh USER@HOST; set the port and other options in ssh_config",
			fmt.Sprintf("cannot use --ssh %q: %v", l.ConnectOpts.SSH, err))
	}
	return a, nil
}
