// Package outside records inputs from outside in a repository, on request of a user: copies of modules,
// answers to lookups, and output of generators. It reads a URL, fetches from another repository, or runs
// a command on this host. The compiler never uses it.
//
//	answer, err := outside.Asker{Run: machine.Run}.Ask(ctx, lookup, "/home/jane/infra")
//
// Ask returns a complete answer or an error. An answer that is too large, too late, refused or
// redirected to another host is an error.
package outside

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/lang/source"
)

// DefaultTimeout is the time limit of a lookup that does not set one.
const DefaultTimeout = 30 * time.Second

// MaxAnswer is the maximum size of an answer in bytes. It must be below the limit of host.Host for the
// output of a program.
const MaxAnswer = 1<<20 - 1

// Asker executes lookups. The zero value supports only URLs.
type Asker struct {
	// Run runs a command on this host, as host.Host does.
	Run func(context.Context, host.Command) (host.CommandResult, error)
	// Transport sends HTTP requests. If it is nil, a new transport with the certificates and proxies
	// of the system is used.
	Transport http.RoundTripper
}

// Ask returns the answer to a lookup of the repository whose files are in dir. It sends only GET
// requests; a command must not change anything.
func (a Asker) Ask(ctx context.Context, l source.Lookup, dir string) ([]byte, error) {
	timeout := l.Timeout
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if l.URL != "" {
		return a.get(ctx, l.URL)
	}
	return a.command(ctx, l, filepath.Join(dir, l.Directory), timeout)
}

func (a Asker) get(ctx context.Context, from string) ([]byte, error) {
	if err := source.CheckURL(from); err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, fmt.Errorf("cannot request %s: %w", from, err)
	}
	req.Header.Set("User-Agent", "fettle")
	transport := a.Transport
	if transport == nil {
		transport = &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true,
			MaxResponseHeaderBytes: 64 << 10}
	}
	c := http.Client{Transport: transport, CheckRedirect: stay}
	res, err := c.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		return nil, fmt.Errorf("cannot request %s: %w", from, err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("cannot use the answer of %s: its status is %s, not 200 OK", from, res.Status)
	}
	return limited(from, res.Body)
}

// stay allows redirections to the same host, with the same or a more secure scheme: a server must not
// select other servers that fettle contacts.
func stay(to *http.Request, via []*http.Request) error {
	from := via[0].URL
	switch {
	case len(via) > 5:
		return errors.New("it redirects more than 5 times")
	case to.URL.Host != from.Host:
		return fmt.Errorf("it redirects to another host, %s; if this is intended, name that host", to.URL.Host)
	case to.URL.Scheme != via[len(via)-1].URL.Scheme:
		return fmt.Errorf("it redirects to another scheme, %s; if this is intended, use that scheme", to.URL.Scheme)
	}
	return nil
}

func limited(from string, r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, MaxAnswer+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot read the answer of %s: %w", from, err)
	case len(b) > MaxAnswer:
		return nil, tooLarge(from)
	}
	return b, nil
}

func tooLarge(from string) error {
	return fmt.Errorf("cannot use the answer of %s: it has more than %d bytes; request less", from, MaxAnswer)
}

func (a Asker) command(ctx context.Context, l source.Lookup, dir string, timeout time.Duration) ([]byte, error) {
	what := strings.Join(l.Command, " ")
	if a.Run == nil {
		return nil, fmt.Errorf("cannot run %q: no program can be run here", what)
	}
	res, err := a.Run(ctx, host.Command{Argv: l.Command, Dir: dir, Timeout: timeout})
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot run %q: %w", what, err)
	case res.TimedOut:
		return nil, fmt.Errorf("cannot use %q: it took longer than %s", what, timeout)
	case res.ExitCode != 0:
		return nil, fmt.Errorf("cannot use the output of %q: it ended with exit code %d%s", what, res.ExitCode,
			lastLine(res.Stderr))
	case len(res.Stdout) > MaxAnswer:
		return nil, tooLarge(fmt.Sprintf("%q", what))
	}
	return res.Stdout, nil
}

// lastLine returns the last line of the error output of a program, shortened.
func lastLine(stderr []byte) string {
	text := strings.TrimSpace(strings.ToValidUTF8(string(stderr), "?"))
	text = text[strings.LastIndexByte(text, '\n')+1:]
	if text == "" {
		return ""
	}
	if len(text) > 300 {
		text = text[:300] + "…"
	}
	return ": " + text
}
