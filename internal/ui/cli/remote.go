package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/wire"
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
