package web

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// TestSharedPages: a page is rendered again only after 20 times the duration of its last rendering. Other users have
// their own pages.
func TestSharedPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, rendered := newSharedPages(), 0
		read := func(key string) string {
			t.Helper()
			text, _, err := p.read(key, func() ([]byte, error) {
				rendered++
				time.Sleep(100 * time.Millisecond)
				return fmt.Append(nil, rendered), nil
			})
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		for _, step := range []struct {
			wait      time.Duration
			key, want string
		}{
			{0, "ann /", "1"}, {0, "ann /", "1"}, {0, "joe /", "2"}, {1799 * time.Millisecond, "ann /", "1"},
			{101 * time.Millisecond, "ann /", "3"}, {0, "ann /", "3"}, {0, "joe /", "4"},
		} {
			time.Sleep(step.wait)
			if got := read(step.key); got != step.want {
				t.Errorf("%s after %s has the version %s, want %s", step.key, step.wait, got, step.want)
			}
		}
	})
}

// TestForgottenPage: after a user has loaded a page, the page is rendered again at once, and is not an older version.
func TestForgottenPage(t *testing.T) {
	p, rendered := newSharedPages(), 0
	read := func() string {
		text, _, err := p.read("ann /", func() ([]byte, error) {
			rendered++
			time.Sleep(10 * time.Millisecond)
			return fmt.Append(nil, rendered), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if first, again := read(), read(); first != "1" || again != "1" {
		t.Errorf("%s, %s", first, again)
	}
	p.forget("ann /")
	if got := read(); got != "2" {
		t.Errorf("the page is version %s", got)
	}
}
