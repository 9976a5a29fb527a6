package ssh

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"fettle.dev/fettle/internal/executor/wire"
)

// startScript verifies the binary in the cache and starts it. The binary runs only if its digest is
// right. In addition, only the account and root may be able to change the binary or a directory above
// it. So nothing can change between the check and the start. bootScript continues if there is no such
// binary.
var (
	//go:embed start.sh
	startScript string
	//go:embed boot.sh
	bootScript string
)

// Session is the executor of a target, over a connection of its own.
type Session struct {
	*wire.Client
	proc *process
	// Uploaded is the number of bytes of the binary that were transferred, 0 if it was present.
	Uploaded int64
}

// Open connects, brings the program if it is not there, and starts it. When ctx ends
// before that, the connection does; afterwards it has no say. The errors are *Error.
func Open(ctx context.Context, a Address, o Options) (*Session, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	o = o.defaults()
	s, err := openPatiently(ctx, a, o)
	var e *Error
	if errors.As(err, &e) && e.Class == Denied && o.Login != nil && o.Control != "" {
		// A key may want its passphrase, or a touch. OpenSSH asks for that itself, on the
		// terminal; the connection that it makes then is kept, and used at once.
		if lerr := o.Login(ctx, o.argv(a, "true", true, o.keep(a))); lerr != nil {
			return nil, err
		}
		s, err = open(ctx, a, o)
	}
	return s, err
}

func open(ctx context.Context, a Address, o Options) (*Session, error) {
	if !a.Sudo {
		return openBy(ctx, a, o, whole)
	}
	s, err := openBy(ctx, a, o, short)
	var said *bootError
	if errors.As(err, &said) && said.said == absent {
		return openBy(ctx, a, o, whole)
	}
	return s, err
}

func openBy(ctx context.Context, a Address, o Options, script func() string) (*Session, error) {
	p, err := o.start(ctx, a, script, o.bootArgs())
	if err != nil {
		return nil, err
	}
	s := &Session{proc: p}
	if err := p.within(ctx, o.Connect+o.Start, func(ctx context.Context) error { return s.boot(ctx, a, o) }); err != nil {
		p.Kill()
		return nil, p.explain(a, err)
	}
	return s, nil
}

// modePlain tells the script to start the program.
const modePlain = "plain"

// bootArgs are the arguments of the script.
func (o Options) bootArgs() func() ([]string, error) {
	return func() ([]string, error) { return o.scriptArgs(modePlain, o.serveArgs()) }
}

func (o Options) scriptArgs(mode string, rest []string) ([]string, error) {
	var args []string
	for _, arch := range architectures() {
		f, err := o.Programs.For(arch)
		if err != nil {
			return nil, err
		}
		if f == nil {
			args = append(args, "-")
			continue
		}
		args = append(args, f.Digest)
	}
	return append(append(args, mode), rest...), nil
}

// commandLine starts a script, with sudo if the address requires that. With sudo, the binary and all
// files that the script checks belong to root, so the account itself cannot change them. The result is
// one line without an exclamation mark, so that csh accepts it too.
func (a Address) commandLine(script string, words []string) string {
	line := "exec sh -c "
	if a.Sudo {
		line += quote(sudoScript) + " fettle "
	}
	line += quote(script) + " fettle"
	for _, w := range words {
		line += " " + quote(w)
	}
	return line
}

// sudoScript has root's shell run the script that is its first word. sudo drops
// SSH_CONNECTION, so the address of the client is handed over here.
const sudoScript = `exec sudo -H -S -p ` + prompt + ` -u root -- /bin/sh -c "$@" --from "${SSH_CONNECTION%% *}"`

// absent is the output of the short script if it cannot start the binary.
const absent = "absent"

// whole is both scripts as one line.
func whole() string { return wholeWith(bootScript) }

func wholeWith(boot string) string {
	boot = base64.StdEncoding.EncodeToString([]byte(boot))
	return scriptWith(`eval "$(echo ` + boot + ` | base64 -d)"`)
}

// short is the script that can only start a program that is there. sudo writes each
// command into the log of the host, where whole would take many lines.
func short() string { return scriptWith(`{ echo; echo fettle-boot ` + absent + `; exit 3; }`) }

func scriptWith(boot string) string {
	return strings.ReplaceAll(strings.Replace(strings.TrimSpace(startScript), "BOOT", boot, 1), "\n", " ")
}

// quote makes one word for any common login shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// start has a command line of the script run there: in a connection that is kept where one is at hand, and
// by ssh everywhere else.
func (o Options) start(ctx context.Context, a Address, script func() string,
	args func() ([]string, error)) (*process, error) {
	words, err := args()
	if err != nil {
		return nil, err
	}
	password := o.SudoPassword
	if !a.Sudo {
		password = nil // a later prompt is not from sudo
	}
	k, command := o.keep(a), a.commandLine(script(), words)
	s, err := o.session(ctx, k, command)
	if err == nil {
		return sessionProcess(s, password), nil
	}
	if errors.Is(err, errNoAnswer) {
		k = kept{} // ssh would wait for it as well
	}
	p, err := startProcess(o.argv(a, command, false, k), password)
	if err != nil {
		return nil, fmt.Errorf("cannot connect to %s: %w; is OpenSSH installed? apt install openssh-client", a, err)
	}
	return p, nil
}

// boot answers the script until the program speaks.
func (s *Session) boot(ctx context.Context, a Address, o Options) error {
	for {
		said, err := s.proc.bootLine()
		if err != nil {
			return err
		}
		arch, lacks := strings.CutPrefix(said, "lack ")
		switch {
		case said == "": // the program's own beginning
			s.Client, err = wire.Dial(ctx, s.proc, o.Wire)
			return err
		case !lacks:
			return &bootError{said}
		}
		if err := s.upload(arch, o); err != nil {
			return s.whyNot(err)
		}
	}
}

// whyNot is the message of the script before it stopped reading, or the error.
func (s *Session) whyNot(err error) error {
	if said, lerr := s.proc.bootLine(); lerr == nil && said != "" {
		return &bootError{said}
	}
	return err
}

// upload sends the program for the target's processor.
func (s *Session) upload(arch string, o Options) error {
	f, err := o.Programs.For(arch)
	if err != nil {
		return err
	}
	if f == nil {
		return &bootError{"unfit Linux " + arch}
	}
	packed, err := f.Packed()
	if err != nil {
		return err
	}
	s.proc.extend(o.Upload)
	if _, err := fmt.Fprintf(s.proc.In, "%d\n", len(packed)); err != nil {
		return err
	}
	s.Uploaded, err = io.Copy(s.proc.In, bytes.NewReader(packed))
	return err
}

// Close ends the connection. Work on the target continues as set in wire.Options.
func (s *Session) Close() error {
	err := s.Client.Close()
	select { // the last message may still be in transit, such as the confirmation of a report
	case <-s.proc.Ended:
	case <-time.After(grace):
	}
	s.proc.Kill()
	return err
}

// Forget removes the program from the target's cache: from that of the account, and under
// sudo from that of root too.
func Forget(ctx context.Context, a Address, o Options) error {
	if err := a.check(); err != nil {
		return err
	}
	return forgetBy(ctx, a, o.defaults(), whole)
}

func forgetBy(ctx context.Context, a Address, o Options, script func() string) error {
	if a.Sudo {
		if err := forget(ctx, a, o, script); err != nil {
			return err
		}
		a.Sudo = false // an earlier fettle brought the program to the account's own cache
	}
	return forget(ctx, a, o, script)
}

func forget(ctx context.Context, a Address, o Options, script func() string) error {
	p, err := o.start(ctx, a, script, func() ([]string, error) { return []string{"-", "-", "forget"}, nil })
	if err != nil {
		return err
	}
	defer p.Kill()
	err = p.within(ctx, o.Connect+o.Start, func(context.Context) error {
		said, err := p.bootLine()
		if err == nil && said != "forgotten" {
			err = &bootError{said}
		}
		return err
	})
	if err != nil {
		return p.explain(a, err)
	}
	return nil
}

// bootError is a failure that the script reported.
type bootError struct{ said string }

func (e *bootError) Error() string { return e.said }
