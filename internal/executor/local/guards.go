package local

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"
	"sync"
	"unicode"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/verb"
)

// guards asks the guards of one look.
type guards struct {
	h   host.Host
	how executor.Guards

	mu    sync.Mutex
	views map[bool]*view // by whether they have the network
}

// view is an isolated view of the host, or why there is none.
type view struct {
	host.Isolated
	err error
}

func newGuards(h host.Host, how executor.Guards) *guards {
	return &guards{h: h, how: how, views: map[bool]*view{}}
}

// ask is verb.Env.Guard.
func (g *guards) ask(ctx context.Context, c host.Command, network bool) (host.CommandResult, error) {
	if g.how == executor.HostGuards {
		return g.h.Run(ctx, c)
	}
	if f, ok := g.h.(host.Finder); ok {
		if err := f.Find(c.Argv[0], c.Dir); errors.Is(err, fs.ErrNotExist) {
			return host.CommandResult{}, err // the guard cannot run
		}
	}
	if g.how == executor.NoGuards {
		return host.CommandResult{}, notAsked("--no-guards is set")
	}
	if word := networkState(c.Argv); word != "" && !network {
		return host.CommandResult{}, notAsked("it reads the state of the network (" + word +
			"), which a plan hides from guards; set guard_network = true, or use --run-guards")
	}
	v := g.view(network)
	if v.err != nil {
		return host.CommandResult{}, notAsked(v.err.Error())
	}
	res, err := v.Run(ctx, c)
	if errors.Is(err, host.ErrUsesNetwork) {
		return res, notAsked(
			"it uses the network, which a plan hides from guards; set guard_network = true, or use --run-guards")
	}
	return res, err
}

func notAsked(why string) error { return &verb.NotAskedError{Why: why} }

// view opens a view when a guard first needs it.
func (g *guards) view(network bool) *view {
	g.mu.Lock()
	defer g.mu.Unlock()
	v := g.views[network]
	if v == nil {
		v = &view{err: host.ErrUnsupported}
		if i, ok := g.h.(host.Isolator); ok {
			v.Isolated, v.err = i.Isolate(network)
		}
		g.views[network] = v
	}
	return v
}

// close removes the views, with the files that guards wrote in them.
func (g *guards) close() {
	for _, v := range g.views {
		if v.err == nil {
			_ = v.Close()
		}
	}
}

// networkState returns the word of a command that reads the state of the network, "" for
// none. Such a program sends nothing, so its use of the network is not detected. In a
// separate network it would give a different answer.
func networkState(argv []string) string {
	for _, arg := range argv {
		for _, word := range strings.FieldsFunc(arg, separates) {
			if looksAtNetwork(word) {
				return word
			}
		}
	}
	return ""
}

// separates tells what is between words of a shell.
func separates(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(";|&()`\"'$<>", r) }

func looksAtNetwork(word string) bool {
	for _, dir := range []string{"/proc/net", "/proc/self/net", "/proc/sys/net", "net.ipv4.", "net.ipv6.", "net.core.",
		"net.netfilter.", "net/ipv4/", "net/ipv6/"} {
		if strings.HasPrefix(word, dir) {
			return true
		}
	}
	dir, name := path.Split(word)
	if dir != "" && !strings.HasSuffix(dir, "bin/") {
		return false
	}
	switch name {
	case "ip", "ip6", "nft", "iptables", "ip6tables", "iptables-save", "ip6tables-save", "ebtables", "arptables",
		"ipset", "ipvsadm", "conntrack",
		"ss", "netstat", "ifconfig", "route", "arp", "tc", "bridge", "brctl", "wg", "ethtool", "iw", "iwconfig", "ifquery",
		"networkctl", "ufw":
		return true
	}
	return false
}

// unanswered says which guards a look could not ask.
func unanswered(changes []plan.Change) []string {
	var out []string
	for _, c := range changes {
		if unasked(c) != "" {
			out = append(out, string(c.Addr)+": "+unasked(c))
		}
	}
	return out
}

// unasked is why the guards of a change were not asked, "" if they were.
func unasked(c plan.Change) string {
	if c.Action != plan.Run || c.Addr.Kind() != addr.KindExec || c.From == nil || c.From.Exec() == nil {
		return ""
	}
	return c.From.Exec().GuardsNotRun
}

// onlyUnasked tells whether all that a plan changes are commands whose guards were not asked.
func onlyUnasked(p *plan.Plan) bool {
	some := false
	for _, c := range p.Changes {
		switch {
		case unasked(c) != "":
			some = true
		case c.Action.Mutates():
			return false
		}
	}
	return some
}
