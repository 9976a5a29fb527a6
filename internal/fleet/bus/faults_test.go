package bus_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
)

// pour writes numbers to a stream, and take reads them until it ends.
func pour(s io.ReadWriteCloser, lines int) error {
	defer s.Close()
	for i := range lines {
		if _, err := fmt.Fprintf(s, "line %d %s\n", i, strings.Repeat("x", i%3000)); err != nil {
			return err
		}
	}
	return nil
}

func take(s io.Reader) (lines int, whole bool, err error) {
	all, err := io.ReadAll(s)
	text := string(all)
	for lines = 0; text != ""; lines++ {
		want := fmt.Sprintf("line %d %s\n", lines, strings.Repeat("x", lines%3000))
		rest, ok := strings.CutPrefix(text, want)
		if !ok {
			return lines, err != nil && strings.HasPrefix(want, text), err
		}
		text = rest
	}
	return lines, true, err
}

// TestStreamsUnderFaults: with delayed, duplicated, reordered and lost frames, a reader receives
// the written bytes from the beginning, and an error unless it receives all.
func TestStreamsUnderFaults(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { oneStreamUnderFaults(t, seed) })
		})
	}
}

func oneStreamUnderFaults(t *testing.T, seed uint64) {
	dice := rand.New(rand.NewPCG(seed, 7))
	ctx, cancel := context.WithCancel(context.Background())
	n := bustest.NewNet(ctx, bustest.Faults{})
	link := n.Link(ctx, bustest.ID(1))
	const lines = 1000
	wrote := make(chan error, 1)
	if err := link.ServeStreams("pour", func(_ context.Context, _ []byte,
		s io.ReadWriteCloser) {
		wrote <- pour(s, lines)
	}); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	s, err := n.Exchange().Open(ctx, bustest.ID(1), "pour", nil)
	if err != nil {
		t.Fatal(err)
	}
	lossy, cutAfter := seed%3 == 0, time.Duration(dice.IntN(3000))*time.Millisecond
	n.SetFaults(bustest.Faults{
		Delay:     func(string) time.Duration { return time.Duration(dice.IntN(50)) * time.Millisecond },
		Duplicate: func(string) bool { return dice.IntN(4) == 0 },
		Drop:      func(string) bool { return lossy && dice.IntN(100) == 0 },
	})
	if seed%5 == 4 {
		time.AfterFunc(cutAfter, func() { n.Cut(bustest.ID(1)) })
	}
	got, whole, err := take(s)
	if !whole {
		t.Fatalf("after line %d something else came", got)
	}
	if err == nil && got != lines {
		t.Errorf("%d lines of %d came, and no error", got, lines)
	}
	if err != nil && !lossy && seed%5 != 4 {
		t.Errorf("nothing was lost, and it ends with: %v", err)
	}
	_ = s.Close()
	<-wrote
	cancel()
	_ = link.Close()
}

// TestSilence: an end that vanishes silently is detected.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		n := bustest.NewNet(ctx, bustest.Faults{})
		link := n.Link(ctx, bustest.ID(1))
		ended := make(chan error, 1)
		if err := link.ServeStreams("wait", func(_ context.Context, _ []byte, s io.ReadWriteCloser) {
			_, err := s.Read(make([]byte, 1))
			ended <- err
		}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		s, err := n.Exchange().Open(ctx, bustest.ID(1), "wait", nil)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		n.SetFaults(bustest.Faults{Drop: func(string) bool { return true }})
		begin := time.Now()
		if _, err := s.Read(make([]byte, 1)); !errors.Is(err, bus.ErrLost) {
			t.Errorf("the hub's end: %v", err)
		}
		if err := <-ended; !errors.Is(err, bus.ErrLost) {
			t.Errorf("the agent's end: %v", err)
		}
		if after := time.Since(begin); after > time.Minute {
			t.Errorf("noticed after %s", after)
		}
		short, stop := context.WithTimeout(ctx, 5*time.Second)
		if _, err := n.Exchange().Ask(short, bustest.ID(1), "do", nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a question that vanishes: %v", err)
		}
		stop()
		begin = time.Now()
		if _, err := link.Ask(ctx, "report", nil); !errors.Is(err, context.DeadlineExceeded) ||
			time.Since(begin) != time.Minute {
			t.Errorf("a question without an end: %v after %s", err, time.Since(begin))
		}
		cancel()
		_ = link.Close()
	})
}

// TestComeBack: a link that is cut off reconnects by itself, with increasing pauses, and never
// gives up. Requests in the meantime fail at once.
func TestComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		n := bustest.NewNet(ctx, bustest.Faults{})
		serve := func(context.Context, fleet.TargetID, []byte) ([]byte, error) { return []byte("ok"), nil }
		if err := n.Exchange().Serve("report", serve); err != nil {
			t.Fatal(err)
		}
		link := n.Link(ctx, bustest.ID(1))
		var changes []string
		link.Changes(func(up bool) { changes = append(changes, fmt.Sprint(up)) })
		time.Sleep(time.Hour)
		n.Partition(bustest.ID(1), true)
		synctest.Wait()
		if _, err := link.Ask(ctx, "report", nil); !errors.Is(err, fleet.ErrNoHub) {
			t.Errorf("asked without a connection: %v", err)
		}
		time.Sleep(72 * time.Hour)
		n.Partition(bustest.ID(1), false)
		begin := time.Now()
		for !slices.Contains(n.Exchange().Connected(), bustest.ID(1)) {
			time.Sleep(time.Second)
		}
		if after := time.Since(begin); after > 31*time.Second {
			t.Errorf("it was back after %s", after)
		}
		if got, err := link.Ask(ctx, "report", nil); string(got) != "ok" || err != nil {
			t.Errorf("asked after it: %q, %v", got, err)
		}
		cancel()
		_ = link.Close()
		if want := []string{"true", "false", "true", "false"}; !slices.Equal(changes, want) {
			t.Errorf("changes %v, want %v", changes, want)
		}
	})
}

// TestQuestionsUnderFaults: with retries every request is answered. A request is handled at most
// twice as often as it is sent.
func TestQuestionsUnderFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		dice := rand.New(rand.NewPCG(1, 2))
		n := bustest.NewNet(ctx, bustest.Faults{
			Delay:     func(string) time.Duration { return time.Duration(dice.IntN(2000)) * time.Millisecond },
			Duplicate: func(string) bool { return dice.IntN(3) == 0 },
			Drop:      func(string) bool { return dice.IntN(5) == 0 },
		})
		var mu sync.Mutex // requests are handled concurrently
		seen := map[string]bool{}
		var all []string
		if err := n.Exchange().Serve("report", func(_ context.Context, from fleet.TargetID, body []byte) ([]byte, error) {
			key := string(from) + string(body)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, key)
			seen[key] = true
			return body, nil
		}); err != nil {
			t.Fatal(err)
		}
		done := make(chan bool)
		for i := range 5 {
			link := n.Link(ctx, bustest.ID(i))
			defer link.Close()
			go func() {
				defer func() { done <- true }()
				for seq := 0; seq < 20; {
					once, stop := context.WithTimeout(ctx, 5*time.Second)
					if got, err := link.Ask(once, "report", fmt.Append(nil, seq)); err == nil {
						if string(got) != fmt.Sprint(seq) {
							t.Errorf("question %d has the answer %s", seq, got)
						}
						seq++
					} else {
						time.Sleep(time.Second)
					}
					stop()
				}
			}()
		}
		for range 5 {
			<-done
		}
		cancel()
		mu.Lock()
		defer mu.Unlock()
		if len(seen) != 100 || len(all) <= 100 {
			t.Errorf("%d reports came, %d with those that came again", len(seen), len(all))
		}
	})
}
