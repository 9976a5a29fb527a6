package versions

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// TestSharedPages: a page is rendered again only after 20 times the duration of its last rendering. A further page that
// is as slow makes it 40 times.
func TestSharedPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, rendered := NewShared(), 0
		read := func(key string) string {
			t.Helper()
			text, _, err := p.Read(key, func() ([]byte, error) {
				rendered++
				time.Sleep(100 * time.Millisecond)
				return fmt.Append(nil, rendered), nil
			})
			if err != nil {
				t.Fatal(err)
			}
			return textOf(t, text)
		}
		for _, step := range []struct {
			wait      time.Duration
			key, want string
		}{
			{0, "ann /", "1"}, {0, "ann /", "1"}, {0, "joe /", "2"}, {1799 * time.Millisecond, "ann /", "1"},
			{101 * time.Millisecond, "ann /", "3"}, {0, "ann /", "3"}, {0, "joe /", "2"},
			{1900 * time.Millisecond, "joe /", "4"},
		} {
			time.Sleep(step.wait)
			if got := read(step.key); got != step.want {
				t.Errorf("%s after %s has the version %s, want %s", step.key, step.wait, got, step.want)
			}
		}
	})
}

// TestManySharedPages: a hundred different open pages together use at most the part of a CPU that they may use. Pages
// that are closed no longer count.
func TestManySharedPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewShared()
		const took, during = 10 * time.Millisecond, 5 * time.Minute
		busy, rendered := time.Duration(0), 0
		rest := func(page int) time.Duration {
			_, rest, err := p.Read(fmt.Sprint("page ", page), func() ([]byte, error) {
				time.Sleep(took)
				rendered++
				busy += took
				return []byte("text"), nil
			})
			if err != nil {
				t.Fatal(err)
			}
			return rest
		}
		for began := time.Now(); time.Since(began) < during; time.Sleep(100 * time.Millisecond) {
			for page := range 100 {
				rest(page)
			}
		}
		if most := during/allFactor + 2*100*took; busy > most || rendered < 1000 {
			t.Errorf("they use %s of %s, in %d renderings", busy, during, rendered)
		}
		time.Sleep(3 * mostRest)
		if got := rest(1); got != restFactor*took {
			t.Errorf("a page alone rests for %s", got)
		}
	})
}

// TestForgottenPage: after a user has loaded a page, the page is rendered again at once, and is not an older version.
func TestForgottenPage(t *testing.T) {
	p, rendered := NewShared(), 0
	read := func() string {
		text, _, err := p.Read("ann /", func() ([]byte, error) {
			rendered++
			time.Sleep(10 * time.Millisecond)
			return fmt.Append(nil, rendered), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return textOf(t, text)
	}
	if first, again := read(), read(); first != "1" || again != "1" {
		t.Errorf("%s, %s", first, again)
	}
	p.Forget("ann /")
	if got := read(); got != "2" {
		t.Errorf("the page is version %s", got)
	}
}
