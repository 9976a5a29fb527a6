package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/pflag"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/ssh"
	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/ui/render"
	"fettle.dev/fettle/internal/workspace"
)

// Remote is a machine at the other end of a connection.
type Remote interface {
	executor.Executor
	Hello() wire.Hello
	Facts() map[string]cty.Value
	// Collected tells it that these reports were seen.
	Collected(ctx context.Context, names []string) error
	Close() error
}

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

// Address is the way to the machine that a command works on. A name that nothing knows is
// refused, also behind --ssh: it is a mistake in any case.
func (s *Session) Address(ctx context.Context, target string) (way, error) {
	switch {
	case s.ConnectOpts.SSH == "" && target == "":
		return way{here: true}, nil
	case target == "":
		return s.given()
	case s.ConnectOpts.SSH == "" && s.ConnectOpts.Via.Value == ViaHub:
		return way{Hub: target}, nil
	case s.ConnectOpts.SSH == "" && IsThisHost(s.Printer, target):
		return way{here: true}, nil
	}
	src, err := s.HubAccess.Open(ctx)
	if err != nil {
		return way{}, err
	}
	defer src.Close()
	w, err := s.declared(src, target)
	if src.None != nil && errors.Is(err, errUnknownTarget) {
		err = Refuse("List them: fettle target list",
			fmt.Sprintf("cannot reach %s: the fleet has no such target, and there is no repository here", target))
	}
	return w, err
}

// IsThisHost tells whether a target is the machine that this runs on.
func IsThisHost(s *Printer, target string) bool {
	host, err := s.App.Hostname()
	short, _, _ := strings.Cut(host, ".")
	return err == nil && (target == host || target == short)
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

// declared is the way to a target of an open repository, and to no other.
func (s *Session) declared(src *workspace.Source, target string) (way, error) {
	all, err := Inventory(s, src)
	if err != nil {
		return way{}, err
	}
	i := slices.IndexFunc(all, func(t query.Target) bool { return t.Name == target })
	switch {
	case i < 0:
		return way{}, UnknownTarget(target, TargetNames(all))
	case s.ConnectOpts.SSH != "":
		return s.given()
	case s.ConnectOpts.Via.Value != ViaHub && IsThisHost(s.Printer, target):
		return way{here: true}, nil
	}
	return s.wayTo(all[i], s.isHere(target, all))
}

// connection is the machine that a command works on. The zero value is none.
type connection struct {
	Here   bool   // it is the machine that fettle runs on
	remote Remote // nil for that
}

// Connected gives the machine that a target is, which is reached once.
func (s *Session) Connected(ctx context.Context, target string) (connection, error) {
	if s.Remote != nil {
		return connection{remote: s.Remote}, nil
	}
	w, err := s.Address(ctx, target)
	if err != nil {
		return connection{}, err
	}
	return s.use(ctx, w)
}

// ConnectTarget reaches a target of an open repository.
func (s *Session) ConnectTarget(ctx context.Context, src *workspace.Source, target string) error {
	if s.Remote != nil {
		return nil
	}
	w, err := s.declared(src, target)
	if err == nil {
		_, err = s.use(ctx, w)
	}
	return err
}

func (s *Session) use(ctx context.Context, w way) (connection, error) {
	if w.here {
		return connection{Here: true}, nil
	}
	x, err := Connect(ctx, s, w, true)
	if err != nil {
		return connection{}, err
	}
	s.Remote, s.At = x, w
	return connection{remote: x}, tellEnded(ctx, s.Printer, x)
}

// Connect reaches a machine. kept uses a connection of SSH that is kept from before, and
// keeps this one.
func Connect(ctx context.Context, s *Session, w way, kept bool) (x Remote, err error) {
	switch {
	case !w.Far():
		err = errors.New("cannot reach another host: no connection is declared")
	case w.Hub != "":
		x, err = s.HubAccess.Connect(ctx, w.Hub)
	case s.App.SSH.Connect == nil:
		err = errors.New("cannot reach other hosts: this binary was built without SSH")
	default:
		x, err = s.App.SSH.Connect(ctx, w.Address, s.SSHOptions(), kept)
	}
	if err != nil {
		return nil, err
	}
	if text := x.Hello().Trouble; text != "" {
		return nil, errors.Join(fmt.Errorf("cannot work on %s: %s", w, text), x.Close())
	}
	return x, nil
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

// tellEnded says how runs ended that lost their connection, and has the machine
// forget it.
func tellEnded(ctx context.Context, s *Printer, x Remote) error {
	ended := x.Hello().Ended
	if len(ended) == 0 {
		return nil
	}
	var names []string
	for _, e := range ended {
		names = append(names, e.Name)
		fmt.Fprint(s.App.Stderr, endedText(s, x.Hello().Host, e))
	}
	return x.Collected(ctx, names)
}

func endedText(s *Printer, host string, e wire.Ended) string {
	var b strings.Builder
	how := "no run was needed"
	if e.Report != nil && e.Report.Run > 0 {
		how = fmt.Sprintf("run %d: %s, %d changed", e.Report.Run, e.Report.Outcome, e.Report.Changed)
	}
	fmt.Fprintf(&b, "On %s a run continued after its connection was lost. It started at %s (%s).\n", render.Escape(host),
		s.Moment(e.Started), render.Escape(e.Command))
	fmt.Fprintf(&b, "  It ended at %s: %s\n", s.Moment(e.Ended), how)
	if e.Error != "" {
		fmt.Fprintf(&b, "  %s\n", render.Escape(e.Error))
	}
	return b.String() + "\n"
}

// closeRemote ends the connection of this command line.
func (l *links) closeRemote() {
	if l.Remote != nil {
		_ = l.Remote.Close()
	}
}
