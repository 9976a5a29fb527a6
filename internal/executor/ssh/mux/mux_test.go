package mux_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/executor/ssh/mux"
	"fettle.dev/fettle/internal/host/local"
)

// begin asks for a session at a socket.
func begin(t *testing.T, path, command string) *mux.Session {
	t.Helper()
	s, err := ask(t.Context(), path, mux.Request{Command: command, Env: []string{"LC_MUX=of ours"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return s
}

func ask(ctx context.Context, path string, r mux.Request) (*mux.Session, error) {
	conn, err := local.DialOwn(ctx, path)
	if err != nil {
		return nil, err
	}
	return mux.Open(ctx, conn, r)
}

// all reads a session to its end.
func all(s *mux.Session) (out, errs string, code int) {
	said := make(chan string, 1)
	go func() {
		b, _ := io.ReadAll(s.Err)
		said <- string(b)
	}()
	b, _ := io.ReadAll(s.Out)
	return string(b), <-said, s.Code()
}

// conform is what a session does at any master. Each call of socket is for one session.
func conform(t *testing.T, socket func(*testing.T) string) {
	t.Run("streams", func(t *testing.T) {
		s := begin(t, socket(t), `read a; echo "got $a"; echo "LC is $LC_MUX" >&2; exit 7`)
		if _, err := io.WriteString(s.In, "something\n"); err != nil {
			t.Fatal(err)
		}
		out, errs, code := all(s)
		if out != "got something\n" || errs != "LC is of ours\n" || code != 7 {
			t.Errorf("it says %q, %q and ends with %d", out, errs, code)
		}
		s.Kill() // when all is over
		if s.Code() != 7 {
			t.Errorf("its code becomes %d", s.Code())
		}
	})
	t.Run("codes", func(t *testing.T) {
		for command, want := range map[string]int{"true": 0, "exit 255": 255, "exit 126": 126, "/nowhere/at/all": 127} {
			if _, _, code := all(begin(t, socket(t), command)); code != want {
				t.Errorf("%s ends with %d, want %d", command, code, want)
			}
		}
	})
	t.Run("much", func(t *testing.T) {
		s := begin(t, socket(t), "cat")
		much := bytes.Repeat([]byte("0123456789abcdef"), 1<<17)
		go func() {
			_, _ = s.In.Write(much)
			_ = s.In.Close()
		}()
		if out, _, code := all(s); out != string(much) || code != 0 {
			t.Errorf("%d of %d bytes come back, and it ends with %d", len(out), len(much), code)
		}
	})
	t.Run("late end", func(t *testing.T) { // the code is there when the output has ended, however long that takes
		s := begin(t, socket(t), "echo a; exec >&-; sleep .2; exit 3")
		if out, _, code := all(s); out != "a\n" || code != 3 {
			t.Errorf("it says %q and ends with %d", out, code)
		}
	})
	t.Run("killed", func(t *testing.T) {
		s := begin(t, socket(t), "echo $$; cat; exit 4")
		pid, err := bufio.NewReader(s.Out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		s.Kill()
		if _, _, code := all(s); code != -1 {
			t.Errorf("it ends with %d, want -1", code)
		}
		await(t, "end of what ran", func() bool { _, err := os.Stat("/proc/" + strings.TrimSpace(pid)); return err != nil })
	})
}

// await waits for something.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("there is no %s", what)
		}
	}
}

func TestFakeMaster(t *testing.T) {
	conform(t, func(t *testing.T) string { return fake(t, runs) })
}

// TestRefused: what is not the protocol, or a refusal, is an error, and the files that
// were passed are let go.
func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		master func(*master)
		says   string
	}{
		"nothing":       {func(m *master) { _ = m.asked() }, "EOF"},
		"other version": {func(m *master) { m.say(hello, 5); _ = m.asked() }, "version 5"},
		"no hello":      {func(m *master) { _ = m.asked(); m.say(opened, 0, 5) }, "instead of version"},
		"denied":        {func(m *master) { m.say(hello, 4); _ = m.asked(); m.say(denied, 0, "not you") }, `"not you"`},
		"failed":        {func(m *master) { m.say(hello, 4); _ = m.asked(); m.say(failed, 0, "no more") }, `"no more"`},
		"other request": {func(m *master) { m.say(hello, 4); _ = m.asked(); m.say(opened, 1, 5) }, "request 1"},
		"hello twice":   {func(m *master) { m.say(hello, 4); _ = m.asked(); m.say(hello, 0) }, "kind 0x1"},
		"ends at once":  {func(m *master) { m.say(hello, 4); _ = m.asked(); m.say(ended, 0, 5) }, "kind 0x80000004"},
		"half":          {func(m *master) { m.say(hello, 4); _ = m.asked(); _, _ = m.Write(number(12)) }, "EOF"},
		"too long": {func(m *master) { m.say(hello, 4); _ = m.asked(); _, _ = m.Write(number(1 << 20)) },
			"does not follow"},
		"something else": {func(m *master) { _, _ = io.WriteString(m, "SSH-2.0-OpenSSH_9.2\r\n"); _ = m.asked() },
			"does not follow"},
	} {
		let := make(chan struct{})
		s, err := ask(t.Context(), fake(t, func(m *master) {
			c.master(m)
			m.letGo()
			_ = m.CloseWrite()
			_, _ = io.Copy(io.Discard, m)
			close(let)
		}), mux.Request{Command: "true"})
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, %v; want an error with %q", name, s, err, c.says)
		}
		<-let // the connection does not stay
	}
}

// TestNoAnswer: who asks a master that hangs may stop waiting.
func TestNoAnswer(t *testing.T) {
	why := errors.New("no more patience")
	ctx, cancel := context.WithCancelCause(t.Context())
	path := fake(t, func(m *master) {
		_ = m.asked()
		cancel(why)
		_, _ = io.Copy(io.Discard, m)
		m.letGo()
	})
	if s, err := ask(ctx, path, mux.Request{Command: "true"}); !errors.Is(err, why) {
		t.Errorf("%v, %v", s, err)
	}
}

// TestMasterDies: a session whose master is gone, or breaks the protocol, has lost its
// connection, with what it said before.
func TestMasterDies(t *testing.T) {
	for name, then := range map[string]func(*master){
		"gone":              func(*master) {},
		"half a message":    func(m *master) { _, _ = m.Write(number(12)) },
		"another session":   func(m *master) { m.say(ended, 6, 0) },
		"twice":             func(m *master) { m.say(ended, 5, 0); m.say(ended, 5, 0) },
		"nothing it may":    func(m *master) { m.say(opened, 0, 5) },
		"no terminal there": func(m *master) { m.say(0x80000008, 5) },
	} {
		s := begin(t, fake(t, func(m *master) {
			m.say(hello, 4)
			_ = m.asked()
			m.say(opened, 0, 5)
			_, _ = io.WriteString(m.files[1], "so far")
			m.letGo()
			then(m)
		}), "true")
		if out, _, code := all(s); out != "so far" || code != 255 {
			t.Errorf("%s: it says %q and ends with %d", name, out, code)
		}
	}
}

// TestKillHung: a session ends for who kills it, even if its master never lets go.
func TestKillHung(t *testing.T) {
	held := make(chan struct{})
	s := begin(t, fake(t, func(m *master) {
		m.say(hello, 4)
		_ = m.asked()
		m.say(opened, 0, 5)
		<-held
		m.letGo()
	}), "true")
	defer close(held)
	s.Kill()
	s.Kill()
	if _, err := io.ReadAll(s.Out); err == nil || s.Code() != -1 {
		t.Errorf("%v, and it ends with %d", err, s.Code())
	}
	if _, err := s.In.Write([]byte("x")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("it still takes input: %v", err)
	}
}
