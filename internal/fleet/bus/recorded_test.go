package bus_test

import (
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"fettle.dev/fettle/internal/fleet/bus"
)

var record = flag.String("record", "", "write the frames of a session of this program to testdata/frames-VERSION.txt")

// sentFrame is one frame of a recorded session.
type sentFrame struct {
	from string // "hub" or "agent"
	data string // kind and body
}

// TestRecordFrames records a session of this version. Record the frames of a protocol version
// before anything of it changes.
func TestRecordFrames(t *testing.T) {
	a, ctx := newAuthority(t), sessionTime(t)
	srv := a.listen(t)
	hub, err := hubSide(ctx, srv.Exchange())
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var all []sentFrame
	l, err := tls.Listen("tcp", "127.0.0.1:0", asHub(a))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		agent, err := l.Accept()
		if err != nil {
			return
		}
		hub, err := tls.Dial("tcp", srv.Address().String(), a.conf("target", string(sessionTarget)))
		if err != nil {
			return
		}
		pass := func(from string, in, out net.Conn) {
			r, w := &raw{in.(*tls.Conn)}, &raw{out.(*tls.Conn)}
			for {
				kind, body, err := r.next()
				if err != nil {
					_ = out.Close()
					return
				}
				mu.Lock()
				all = append(all, sentFrame{from, string(kind) + string(body)})
				mu.Unlock()
				_ = w.send(kind, body)
			}
		}
		go pass("hub", hub, agent)
		pass("agent", agent, hub)
	}()
	link := a.link(srv, sessionTarget)
	link.URLs = []string{"tls://" + l.Addr().String()}
	far, err := bus.Dial(ctx, link)
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	if err := errors.Join(agentSide(ctx, far), <-hub); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if *record == "" {
		return
	}
	var text strings.Builder
	for _, f := range all {
		fmt.Fprintf(&text, "%s %s\n", f.from, strconv.Quote(f.data))
	}
	if err := os.WriteFile(framesFile(*record), []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func asHub(a *authority) *tls.Config {
	c := a.conf("hub", "hub1")
	c.ClientAuth = tls.RequireAndVerifyClientCert
	return c
}

func framesFile(version string) string {
	return filepath.Join("testdata", "frames-"+version+".txt")
}

func readFrames(t *testing.T, version string) (out []sentFrame) {
	t.Helper()
	text, err := os.ReadFile(framesFile(version))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		from, quoted, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		data, err := strconv.Unquote(quoted)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, sentFrame{from, data})
	}
	return out
}

// replay plays one side of a recorded session, and compares the frames of the other side. Tokens
// are random in each session, so the recorded tokens are replaced.
type replay struct {
	frames []sentFrame
	tokens map[string]string // of the recorded session, in this one; "" until it is known
}

// The positions of tokens: the name in the hello, subjects, and the header of a stream.
var tokenPlace = regexp.MustCompile(`^H\x01([0-9a-f]{16})|[rd]\.([0-9a-f]{16})| ([0-9a-f]{16})\n`)

func newReplay(t *testing.T, version string) *replay {
	t.Helper()
	p := &replay{readFrames(t, version), map[string]string{}}
	for _, f := range p.frames {
		for _, m := range tokenPlace.FindAllStringSubmatch(f.data, -1) {
			p.tokens[m[1]+m[2]+m[3]] = ""
		}
	}
	return p
}

// translate inserts the tokens of this session into a frame. Unknown tokens are the player's own,
// and stay.
func (p *replay) translate(data string) string {
	for token, now := range p.tokens {
		if now != "" {
			data = strings.ReplaceAll(data, token, now)
		}
	}
	return data
}

// matches compares a frame with the recorded one, and learns its tokens.
func (p *replay) matches(want, got string) bool {
	if len(want) != len(got) {
		return false
	}
	for token, now := range p.tokens {
		if i := strings.Index(want, token); now == "" && i >= 0 {
			p.tokens[token] = got[i : i+len(token)]
		}
	}
	return p.translate(want) == got
}

// ofStream returns the kind of a frame of a stream, 0 for any other frame. Each end decides how it
// divides data into frames, and when it grants bytes.
func ofStream(data string) byte {
	if data[0] != 'M' || len(data) < 4 || data[2:4] != "d." {
		return 0
	}
	return data[2+int(data[1])+1]
}

// play sends the frames of one side, and waits for the frames of the other side.
func (p *replay) play(r *raw, as string) error {
	for i, f := range p.frames {
		if f.from == as {
			data := p.translate(f.data)
			if err := r.send(data[0], []byte(data[1:])); err != nil {
				return fmt.Errorf("frame %d: %w", i+1, err)
			}
			continue
		}
		if kind := ofStream(f.data); kind != 0 && kind != 'D' {
			continue
		}
		for {
			kind, body, err := r.next()
			if err != nil {
				return fmt.Errorf("frame %d, %.60q: %w", i+1, f.data, err)
			}
			got := string(kind) + string(body)
			if kind := ofStream(got); kind != 0 && kind != 'D' {
				continue
			}
			if !p.matches(f.data, got) {
				return fmt.Errorf("frame %d: %q instead of %q", i+1, got, p.translate(f.data))
			}
			break
		}
	}
	return nil
}

// previous are the recorded protocol versions.
func previous() []string { return []string{"1"} }

// TestPreviousAgent: an agent of each earlier protocol version works with this hub.
func TestPreviousAgent(t *testing.T) {
	for _, version := range previous() {
		t.Run(version, func(t *testing.T) {
			a, ctx := newAuthority(t), sessionTime(t)
			srv := a.listen(t)
			hub, err := hubSide(ctx, srv.Exchange())
			if err != nil {
				t.Fatal(err)
			}
			c, err := tls.Dial("tcp", srv.Address().String(), a.conf("target", string(sessionTarget)))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if err := newReplay(t, version).play(&raw{c}, "agent"); err != nil {
				t.Fatal(err)
			}
			if err := <-hub; err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestPreviousHub: this agent works with a hub of each earlier protocol version.
func TestPreviousHub(t *testing.T) {
	for _, version := range previous() {
		t.Run(version, func(t *testing.T) {
			a, ctx := newAuthority(t), sessionTime(t)
			l, err := tls.Listen("tcp", "127.0.0.1:0", asHub(a))
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			p, played := newReplay(t, version), make(chan error, 1)
			go func() {
				c, err := l.Accept()
				if err == nil {
					err = p.play(&raw{c.(*tls.Conn)}, "hub")
				}
				played <- err
			}()
			link := bus.LinkConfig{ID: sessionTarget, URLs: []string{"tls://" + l.Addr().String()},
				TLS: always(a.conf("target", string(sessionTarget))), Backoff: soon}
			far, err := bus.Dial(ctx, link)
			if err != nil {
				t.Fatal(err)
			}
			defer far.Close()
			if err := errors.Join(agentSide(ctx, far), <-played); err != nil {
				t.Fatal(err)
			}
		})
	}
}
