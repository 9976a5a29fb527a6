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
	ssh          string
	via          choice
	sudo         bool
	askSudo      bool
	sudoFile     string // of the password
	acceptNew    bool
	onDisconnect choice
	signKey      string // the file of the key for signed commands
}

// address is the way to the machine that a command works on. A name that nothing knows is
// refused, also behind --ssh: it is a mistake in any case.
func (s *session) address(ctx context.Context, target string) (way, error) {
	switch {
	case s.connectOpts.ssh == "" && target == "":
		return way{here: true}, nil
	case target == "":
		return s.given()
	case s.connectOpts.ssh == "" && s.connectOpts.via.value == viaHub:
		return way{hub: target}, nil
	case s.connectOpts.ssh == "" && isThisHost(s.printer, target):
		return way{here: true}, nil
	}
	src, err := s.openChosen(ctx)
	if err != nil {
		return way{}, err
	}
	defer src.close()
	w, err := s.declared(src, target)
	if src.none != nil && errors.Is(err, errUnknownTarget) {
		err = refuse("List them: fettle target list",
			fmt.Sprintf("cannot reach %s: the fleet has no such target, and there is no repository here", target))
	}
	return w, err
}

// isThisHost tells whether a target is the machine that this runs on.
func isThisHost(s *printer, target string) bool {
	host, err := s.app.Hostname()
	short, _, _ := strings.Cut(host, ".")
	return err == nil && (target == host || target == short)
}

// given reads --ssh, as one would write it behind ssh.
func (l *links) given() (way, error) {
	a := way{Address: ssh.Address{Host: l.connectOpts.ssh, Sudo: l.connectOpts.sudo}}
	if user, host, ok := strings.Cut(a.Host, "@"); ok {
		a.User, a.Host = user, host
	}
	if err := (query.SSH{Host: a.Host, User: a.User}).Valid(); err != nil {
		return way{}, refuse("Use --ssh USER@HOST; set the port and other options in ssh_config",
			fmt.Sprintf("cannot use --ssh %q: %v", l.connectOpts.ssh, err))
	}
	return a, nil
}

// declared is the way to a target of an open repository, and to no other.
func (s *session) declared(src *source, target string) (way, error) {
	all, err := inventory(s, src)
	if err != nil {
		return way{}, err
	}
	i := slices.IndexFunc(all, func(t query.Target) bool { return t.Name == target })
	switch {
	case i < 0:
		return way{}, unknownTarget(target, targetNames(all))
	case s.connectOpts.ssh != "":
		return s.given()
	case s.connectOpts.via.value != viaHub && isThisHost(s.printer, target):
		return way{here: true}, nil
	}
	return s.wayTo(all[i], s.isHere(target, all))
}

// connection is the machine that a command works on. The zero value is none.
type connection struct {
	here   bool   // it is the machine that fettle runs on
	remote Remote // nil for that
}

// connected gives the machine that a target is, which is reached once.
func (s *session) connected(ctx context.Context, target string) (connection, error) {
	if s.remote != nil {
		return connection{remote: s.remote}, nil
	}
	w, err := s.address(ctx, target)
	if err != nil {
		return connection{}, err
	}
	return s.use(ctx, w)
}

// connectTarget reaches a target of an open repository.
func (s *session) connectTarget(ctx context.Context, src *source, target string) error {
	if s.remote != nil {
		return nil
	}
	w, err := s.declared(src, target)
	if err == nil {
		_, err = s.use(ctx, w)
	}
	return err
}

func (s *session) use(ctx context.Context, w way) (connection, error) {
	if w.here {
		return connection{here: true}, nil
	}
	x, err := connect(ctx, s, w, true)
	if err != nil {
		return connection{}, err
	}
	s.remote, s.at = x, w
	return connection{remote: x}, tellEnded(ctx, s.printer, x)
}

// connect reaches a machine. kept uses a connection of SSH that is kept from before, and
// keeps this one.
func connect(ctx context.Context, s *session, w way, kept bool) (x Remote, err error) {
	switch {
	case !w.far():
		err = errors.New("cannot reach another host: no connection is declared")
	case w.hub != "":
		x, err = s.connectHub(ctx, w.hub)
	case s.app.Connect == nil:
		err = errors.New("cannot reach other hosts: this binary was built without SSH")
	default:
		x, err = s.app.Connect(ctx, w.Address, s.sshOptions(), kept)
	}
	if err != nil {
		return nil, err
	}
	if text := x.Hello().Trouble; text != "" {
		return nil, errors.Join(fmt.Errorf("cannot work on %s: %s", w, text), x.Close())
	}
	return x, nil
}

// sshOptions are the options of SSH connections on the command line.
func (s *session) sshOptions() ssh.Options {
	o := ssh.Options{AcceptNew: s.connectOpts.acceptNew, SudoPassword: s.sudoPassword, State: s.state,
		Wire: wire.Options{OnDisconnect: s.connectOpts.onDisconnect.value, Identities: s.identities}}
	if s.root != "/" {
		o.Root = s.root
	}
	if s.app.Terminal.In && !s.json {
		o.Login = s.app.Interactive
	}
	return o
}

// sudoPassword returns the password for sudo on targets, and asks for it once.
func (s *session) sudoPassword() (string, error) {
	s.sudo.once.Do(func() { s.sudo.text, s.sudo.err = readSudoPassword(s) })
	return s.sudo.text, s.sudo.err
}

// sudoAnswer is the password of sudo, which is read once for all targets.
type sudoAnswer struct {
	once sync.Once
	text string
	err  error
}

func readSudoPassword(s *session) (string, error) {
	switch {
	case s.connectOpts.sudoFile != "":
		b, err := os.ReadFile(s.connectOpts.sudoFile)
		if err != nil {
			return "", fmt.Errorf("cannot read the password of sudo: %w", err)
		}
		line, _, _ := strings.Cut(string(b), "\n")
		return line, nil
	case !s.connectOpts.askSudo:
		return "", nil
	case s.app.Password == nil || !s.app.Terminal.In:
		return "", refuse(
			"Write it to a file of your own: --sudo-password-file FILE\nOr allow sudo without a password there: NOPASSWD",
			"cannot prompt for the sudo password: there is no terminal")
	}
	return s.app.Password("Password for sudo: ")
}

func (r *connectFlags) flags(f *pflag.FlagSet) {
	r.via = choice{value: viaAny, of: []string{viaAny, viaSSH, viaHub}}
	r.onDisconnect = choice{value: wire.Finish, of: []string{wire.Finish, wire.Stop, wire.Revert}}
	f.StringVar(&r.ssh, "ssh", "", "work on `[USER@]HOST` over SSH, regardless of the repository")
	f.Var(&r.via, "via", "any: as the repository declares, otherwise through the hub; ssh: over SSH; hub: through the hub")
	f.BoolVar(&r.sudo, "sudo", false, "over SSH: become root on the host with sudo")
	f.BoolVar(&r.askSudo, "ask-sudo-password", false, "over SSH: prompt for the sudo password")
	f.StringVar(&r.sudoFile, "sudo-password-file", "",
		"over SSH: read the sudo password from the first line of this `FILE`")
	f.BoolVar(&r.acceptNew, "accept-new", false, "over SSH: trust the key of an unknown host")
	f.StringVar(&r.signKey, "sign-key", "",
		"through a hub: sign commands with the SSH key in this `FILE` if the host requires signatures; \"none\" disables this (default: the key of the login)")
	f.Var(&r.onDisconnect, "on-disconnect",
		"on another host: when the connection is lost, finish the run, stop it, or undo it")
}

// tellEnded says how runs ended that lost their connection, and has the machine
// forget it.
func tellEnded(ctx context.Context, s *printer, x Remote) error {
	ended := x.Hello().Ended
	if len(ended) == 0 {
		return nil
	}
	var names []string
	for _, e := range ended {
		names = append(names, e.Name)
		fmt.Fprint(s.app.Stderr, endedText(s, x.Hello().Host, e))
	}
	return x.Collected(ctx, names)
}

func endedText(s *printer, host string, e wire.Ended) string {
	var b strings.Builder
	how := "no run was needed"
	if e.Report != nil && e.Report.Run > 0 {
		how = fmt.Sprintf("run %d: %s, %d changed", e.Report.Run, e.Report.Outcome, e.Report.Changed)
	}
	fmt.Fprintf(&b, "On %s a run continued after its connection was lost. It started at %s (%s).\n", render.Escape(host),
		s.moment(e.Started), render.Escape(e.Command))
	fmt.Fprintf(&b, "  It ended at %s: %s\n", s.moment(e.Ended), how)
	if e.Error != "" {
		fmt.Fprintf(&b, "  %s\n", render.Escape(e.Error))
	}
	return b.String() + "\n"
}

// closeRemote ends the connection of this command line.
func (l *links) closeRemote() {
	if l.remote != nil {
		_ = l.remote.Close()
	}
}
