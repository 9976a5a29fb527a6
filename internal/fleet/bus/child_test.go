package bus_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
)

// childEnv is the directory of the child process that the test kills.
const childEnv = "FETTLE_TEST_BUS_CHILD"

// runChild runs a hub that writes.
func runChild(dir string) int {
	srv, err := bus.Start(context.Background(), bus.Config{Dir: dir, DontListen: true})
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	return write(srv)
}

// write writes endlessly, and prints the acknowledged writes.
func write(srv *bus.Server) int {
	l, err1 := srv.Log(context.Background(), bus.LogConfig{Name: "events"})
	s, err2 := srv.Store(context.Background(), "things")
	if err := errors.Join(err1, err2); err != nil {
		fmt.Println("error", err)
		return 1
	}
	g := bus.NewGather(l, bus.GatherConfig{})
	var out sync.Mutex
	say := func(format string, v ...any) {
		out.Lock()
		defer out.Unlock()
		fmt.Printf(format, v...)
	}
	run := strconv.FormatInt(time.Now().UnixNano(), 36)
	for w := range 8 {
		go func() {
			for i := 0; ; i++ {
				text := fmt.Sprintf("%s-%d-%d", run, w, i)
				if _, err := g.Append(context.Background(), [][]byte{[]byte(text)}); err == nil {
					say("log %s\n", text)
				}
				if w%2 > 0 {
					writeTogether(s, w, text, say)
				} else if rev, err := s.Put(context.Background(), fmt.Sprintf("k%d", w), []byte(text)); err == nil {
					say("put k%d %d %s\n", w, rev, text)
				}
			}
		}()
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

// writeTogether writes several keys as one batch.
func writeTogether(s fleet.Store, w int, text string, say func(string, ...any)) {
	var all []fleet.Entry
	for i := range 5 {
		key := fmt.Sprintf("k%d.%d", w, i)
		now, err := s.Get(context.Background(), key)
		if err != nil && !errors.Is(err, fleet.ErrNotFound) {
			return
		}
		all = append(all, fleet.Entry{Key: key, Rev: now.Rev, Value: []byte(text)})
	}
	newer, _ := s.(fleet.Batcher).UpdateAll(context.Background(), all) // the leader may be gone
	for i := range newer {
		say("put %s %d %s\n", all[i].Key, newer[i], text)
	}
}

// acknowledged has the writes that a child reported before it was killed.
type acknowledged struct {
	logged []string
	put    map[string]string // the newest by key
	rev    map[string]uint64
}

func newAcknowledged() *acknowledged {
	return &acknowledged{put: map[string]string{}, rev: map[string]uint64{}}
}

func (a *acknowledged) snapshot(mu *sync.Mutex) []string {
	mu.Lock()
	defer mu.Unlock()
	return slices.Clone(a.logged)
}

// killed runs a child until it has printed enough lines, and kills it.
func (a *acknowledged) killed(t *testing.T, dir string, lines int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	in := bufio.NewScanner(stdout)
	for n := 0; in.Scan(); n++ {
		a.heard(t, in.Text())
		if n == lines {
			_ = cmd.Process.Kill()
		}
	}
	_ = cmd.Wait()
}

func (a *acknowledged) heard(t *testing.T, line string) {
	words := strings.Fields(line)
	switch {
	case len(words) == 2 && words[0] == "log":
		a.logged = append(a.logged, words[1])
	case len(words) == 4 && words[0] == "put":
		rev, _ := strconv.ParseUint(words[2], 10, 64)
		a.put[words[1]], a.rev[words[1]] = words[3], rev
	default:
		t.Errorf("the child said %q", line) // and goes on: others wait for the lock of who listens
	}
}

// missing returns the acknowledged writes that are missing.
func (a *acknowledged) missing(t *testing.T, dir string) (logged, put int) {
	t.Helper()
	srv, err := bus.Start(context.Background(), bus.Config{Dir: dir, DontListen: true})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	ctx := context.Background()
	l, err1 := srv.Log(ctx, bus.LogConfig{Name: "events"})
	s, err2 := srv.Store(ctx, "things")
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	last, err := l.Append(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	there, end := map[string]bool{}, errors.New("all was read")
	err = l.Follow(ctx, 0, func(seq uint64, records [][]byte) error {
		for _, r := range records {
			there[string(r)] = true
		}
		if seq == last {
			return end
		}
		return nil
	})
	if !errors.Is(err, end) {
		t.Fatal(err)
	}
	for _, text := range a.logged {
		if !there[text] {
			logged++
		}
	}
	for key, text := range a.put {
		e, err := s.Get(ctx, key)
		if err != nil && !errors.Is(err, fleet.ErrNotFound) {
			t.Fatal(err)
		}
		if e.Rev < a.rev[key] || e.Rev == a.rev[key] && string(e.Value) != text {
			put++
		}
	}
	return logged, put
}

// TestKilled kills a hub repeatedly while it writes: all acknowledged writes exist afterwards.
func TestKilled(t *testing.T) {
	rounds := 6
	if os.Getenv("FETTLE_LONG") != "" {
		rounds = 100
	}
	dir := t.TempDir()
	a := newAcknowledged()
	for round := range rounds {
		a.killed(t, dir, 50+200*round%1000)
	}
	logged, put := a.missing(t, dir)
	if logged+put != 0 || len(a.logged) < 50*rounds/4 {
		t.Errorf("of %d records %d are missing, of %d keys %d", len(a.logged), logged, len(a.put), put)
	}
	t.Logf("%d records and %d keys after %d kills", len(a.logged), len(a.put), rounds)
}

// TestAWorseStore shows that TestKilled can fail: it restores an older copy of the directory, and
// the missing writes are detected.
func TestAWorseStore(t *testing.T) {
	dir, old := t.TempDir(), t.TempDir()
	a := newAcknowledged()
	a.killed(t, dir, 50)
	if err := os.CopyFS(old+"/copy", os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	a.killed(t, dir, 200)
	if logged, put := a.missing(t, old+"/copy"); logged == 0 || put == 0 {
		t.Errorf("an older directory misses %d records and %d keys", logged, put)
	}
}
