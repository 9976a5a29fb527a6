// Package outside asks what the lookups of a repository name, when a person
// says so: a URL, or a command on this machine. Compiling never comes here.
//
//	answer, err := outside.Asker{Run: machine.Run}.Ask(ctx, lookup, "/home/jane/infra")
//
// An answer is whole or an error: what is too large, too late, refused or led
// elsewhere is never half an answer.
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
	"fettle.dev/fettle/internal/lang"
)

// DefaultTimeout is how long an answer may take where the lookup does not say.
const DefaultTimeout = 30 * time.Second

// MaxAnswer is the size of an answer in bytes. It has to be below what
// host.Host keeps of a program's output.
const MaxAnswer = 1<<20 - 1

// Asker asks. The zero value asks URLs alone.
type Asker struct {
	// Run runs a command on this machine: host.Host has it.
	Run func(context.Context, host.Command) (host.CommandResult, error)
	// Transport makes requests; nil is a new one with the system's certificates
	// and proxies.
	Transport http.RoundTripper
}

// Ask gives the answer to a lookup of the repository whose files are in dir.
// Asking changes nothing as far as the one who is asked sees to it.
func (a Asker) Ask(ctx context.Context, l lang.Lookup, dir string) ([]byte, error) {
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
	if err := lang.CheckURL(from); err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, fmt.Errorf("cannot ask %s: %w", from, err)
	}
	req.Header.Set("User-Agent", "fettle")
	transport := a.Transport
	if transport == nil {
		transport = &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10}
	}
	c := http.Client{Transport: transport, CheckRedirect: stay}
	res, err := c.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		return nil, fmt.Errorf("cannot ask %s: %w", from, err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("cannot use what %s answers: it is %s, not 200 OK", from, res.Status)
	}
	return limited(from, res.Body)
}

// stay follows a redirection on the same host and to the same or a safer scheme:
// whoever is asked does not choose whom else we ask.
func stay(to *http.Request, via []*http.Request) error {
	from := via[0].URL
	switch {
	case len(via) > 5:
		return errors.New("it redirects more than 5 times")
	case to.URL.Host != from.Host:
		return fmt.Errorf("it redirects to another host, %s; name that one if it is meant", to.URL.Host)
	case to.URL.Scheme != via[len(via)-1].URL.Scheme:
		return fmt.Errorf("it redirects to another scheme, %s; name that one if it is meant", to.URL.Scheme)
	}
	return nil
}

func limited(from string, r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, MaxAnswer+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot read what %s answers: %w", from, err)
	case len(b) > MaxAnswer:
		return nil, tooLarge(from)
	}
	return b, nil
}

func tooLarge(from string) error {
	return fmt.Errorf("cannot use what %s answers: it has more than %d bytes; ask for less", from, MaxAnswer)
}

func (a Asker) command(ctx context.Context, l lang.Lookup, dir string, timeout time.Duration) ([]byte, error) {
	what := strings.Join(l.Command, " ")
	if a.Run == nil {
		return nil, fmt.Errorf("cannot run %q: there is nobody to run it", what)
	}
	res, err := a.Run(ctx, host.Command{Argv: l.Command, Dir: dir, Timeout: timeout})
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot run %q: %w", what, err)
	case res.TimedOut:
		return nil, fmt.Errorf("cannot wait for %q: it took longer than %s", what, timeout)
	case res.ExitCode != 0:
		return nil, fmt.Errorf("cannot use what %q says: it ended with %d%s", what, res.ExitCode, lastLine(res.Stderr))
	case len(res.Stdout) > MaxAnswer:
		return nil, tooLarge(fmt.Sprintf("%q", what))
	}
	return res.Stdout, nil
}

// lastLine is what a program complained of at the end, shortened.
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
