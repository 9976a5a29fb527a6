package ssh

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"fettle.dev/fettle/internal/executor/wire"
)

// startScript is what a contact runs where the login shell alone does not find the program:
// it starts no other program where ours is there. bootScript is what it goes on with where
// it is not.
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
	// Uploaded is how many bytes of program had to travel, 0 where it was there.
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
	s, err := openBy(ctx, a, o, commandLine)
	var e *Error
	var said *bootError
	if !a.Sudo && errors.As(err, &e) && e.Class == NotRun && !errors.As(err, &said) {
		// Machines of several processors may share a home. The script knows which this is.
		return openBy(ctx, a, o, scriptLine)
	}
	return s, err
}

func openBy(ctx context.Context, a Address, o Options, line func([]string) string) (*Session, error) {
	p, err := o.start(ctx, a, line, o.bootArgs(a))
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

// modePlain tells the script that the program is to be run by the account itself.
const modePlain = "plain"

// bootArgs are those of the script.
func (o Options) bootArgs(a Address) func() ([]string, error) {
	mode := modePlain
	if a.Sudo {
		mode = "sudo"
	}
	return func() ([]string, error) { return o.scriptArgs(mode, o.serveArgs()) }
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

// commandLine starts the program where the script would look for it first, and else the
// script.
func commandLine(words []string) string { return direct(words) + scriptLine(words) }

// direct has the login shell itself start the program, which saves a second shell. Any
// shell that people log in with understands it.
func direct(words []string) string {
	n := len(architectures())
	if words[n] != modePlain {
		return ""
	}
	line := ""
	for _, digest := range words[:n] {
		if _, err := hex.DecodeString(digest); err != nil {
			continue // there is none
		}
		program := "~/.cache/fettle/fettle-" + digest
		line += "test -x " + program + " && exec " + program
		for _, w := range words[n+1:] {
			line += " " + quote(w)
		}
		line += "; "
	}
	return line
}

// scriptLine starts the script. It is one line without an exclamation mark, which is
// what csh takes as well.
func scriptLine(words []string) string {
	line := "exec sh -c " + quote(script()) + " fettle"
	for _, w := range words {
		line += " " + quote(w)
	}
	return line
}

// script is both scripts as one line.
func script() string {
	boot := base64.StdEncoding.EncodeToString([]byte(bootScript))
	return strings.ReplaceAll(strings.Replace(strings.TrimSpace(startScript), "BOOT", boot, 1), "\n", " ")
}

// quote makes one word for any shell that people log in with.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// start has a command line of the script run there: in a connection that is kept where one is at hand, and
// by ssh everywhere else.
func (o Options) start(ctx context.Context, a Address, line func([]string) string, args func() ([]string, error)) (*process, error) {
	words, err := args()
	if err != nil {
		return nil, err
	}
	password := o.SudoPassword
	if !a.Sudo {
		password = nil // whatever asks, it is not sudo
	}
	k, command := o.keep(a), line(words)
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

// whyNot is what the script said before it would take no more, or the error.
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

// Close ends the connection. What runs on the target goes on as wire.Options say.
func (s *Session) Close() error {
	err := s.Client.Close()
	select { // what was written last is still on its way, such as that a report was heard
	case <-s.proc.Ended:
	case <-time.After(grace):
	}
	s.proc.Kill()
	return err
}

// Forget removes the program from the target's cache.
func Forget(ctx context.Context, a Address, o Options) error {
	if err := a.check(); err != nil {
		return err
	}
	o = o.defaults()
	p, err := o.start(ctx, a, scriptLine, func() ([]string, error) { return []string{"-", "-", "forget"}, nil })
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

// bootError is what the script could not do.
type bootError struct{ said string }

func (e *bootError) Error() string { return e.said }
