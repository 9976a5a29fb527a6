package cli

import (
	"context"
	"strings"

	"fettle.dev/fettle/internal/fleet/fanout"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/window"
	"fettle.dev/fettle/internal/workspace"
)

// TargetSet is the targets that a command works on, each with a session of its own.
type TargetSet struct {
	Session *Session
	Source  *workspace.Source
	Options fanout.Options
	Names   []string
	members map[string]*Member
	cache   host.FS // of the lists of all, nil for none
	uncache func() error
	keep    bool   // connections between two rounds
	Changes bool   // the results of targets are recorded, for @failed
	Acts    bool   // this round records something on targets
	Quiet   bool   // rounds are not shown while they happen
	Part    string // of the command that runs
	Stopped string // the reason why a round began no further targets
	noted   map[string]bool
}

// Member is one target of many. Its own output is discarded.
type Member struct {
	*Session
	Entry query.Target
	Work  any  // the result of a round for the next round
	here  bool // it is this machine
}

// TargetSet finds the targets that -t selects. The caller closes it.
func (s *Session) TargetSet(ctx context.Context, f ManyFlags) (*TargetSet, error) {
	src, err := s.HubAccess.Open(ctx)
	if err != nil {
		return nil, err
	}
	chosen, err := s.choose(ctx, src)
	if err != nil {
		src.Close()
		return nil, err
	}
	return s.TargetSetOf(src, f, chosen)
}

// TargetSetOf is these targets of an open repository, which it closes.
func (s *Session) TargetSetOf(src *workspace.Source, f ManyFlags, chosen []query.Target) (*TargetSet, error) {
	cr := &TargetSet{Session: s, Source: src, members: map[string]*Member{}, noted: map[string]bool{}}
	o, err := f.Options()
	if err != nil {
		cr.Close()
		return nil, err
	}
	cr.Options = o
	all, err := s.Targets(src)
	if err != nil {
		cr.Close()
		return nil, err
	}
	cr.openCache(len(chosen))
	for _, t := range chosen {
		cr.Names = append(cr.Names, t.Name)
		// The only target of a repository is this machine, as without -t.
		here := s.ConnectOpts.Via.Value != ViaHub && (IsThisHost(s.Printer, t.Name) || len(all) == 1 && t.SSH == nil &&
			!t.Enrolled)
		cr.members[t.Name] = &Member{Session: s.apart(t.Name), Entry: t, here: here}
		cr.members[t.Name].cache = cr.cache
	}
	cr.keep = len(cr.Names) <= o.Parallel
	return cr, nil
}

// apart is a session for one target of many: it has what the command line says and
// no terminal.
func (s *Session) apart(target string) *Session {
	app := *s.App
	app.Stdin, app.Stdout, app.Stderr = strings.NewReader(""), discard{}, discard{}
	app.Terminal, app.Beside = Terminal{}, nil
	if s.App.Language.Parallel != nil {
		app.Language.Queries = s.App.Language.Parallel
	}
	sub, out := *s, *s.Printer
	out.App, out.JSON = &app, false
	sub.Printer, sub.Target, sub.Words, sub.lines, sub.Remote = &out, target, nil, nil, nil
	return &sub
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// Close closes the repository and the cache.
func (cr *TargetSet) Close() {
	for _, m := range cr.members {
		m.Leave()
	}
	if cr.uncache != nil {
		_ = cr.uncache()
	}
	cr.Source.Close()
}

// Leave closes the connection to the target.
func (m *Member) Leave() {
	m.closeRemote()
	m.Remote = nil
}

// Windows returns the windows of the targets that have some, by name.
func (cr *TargetSet) Windows() map[string][]window.Window {
	out := map[string][]window.Window{}
	for name, m := range cr.members {
		if len(m.Entry.Windows) > 0 {
			out[name] = m.Entry.Windows
		}
	}
	return out
}

// Labels returns the labels of the targets, by name.
func (cr *TargetSet) Labels() map[string]map[string]string {
	out := map[string]map[string]string{}
	for name, m := range cr.members {
		out[name] = m.Entry.Labels
	}
	return out
}
