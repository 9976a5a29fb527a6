package check

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/step"
)

// fake answers with status and body once it was asked often enough.
type fake struct {
	status, tries int
	body          string
}

func (f *fake) HTTP(context.Context, string) (int, []byte, error) {
	if f.tries--; f.tries >= 0 {
		return 0, nil, errors.New("refused")
	}
	return f.status, []byte(f.body), nil
}

func (f *fake) TCP(context.Context, string) error { return errors.New("refused") }

func TestHTTP(t *testing.T) {
	for _, c := range []struct {
		words, want string
		net         fake
		took        time.Duration
	}{
		{words: "", net: fake{status: 200}},
		{words: "status=404", net: fake{status: 404}},
		{words: "", net: fake{status: 200, tries: 3}, took: 3 * pause},
		{words: "within=1s", net: fake{status: 500},
			want: "still failing after 1s: http://h/ answers with status 500 instead of 200", took: time.Second},
		{words: "contains=ok within=2s", net: fake{status: 200, body: "bad"}, want: `does not contain the text "ok"`,
			took: 2 * time.Second},
		{words: "contains=ok", net: fake{status: 200, body: "all ok"}},
		{words: "", net: fake{tries: 1000}, want: "still failing after 10s: http://h/ does not answer: refused",
			took: within},
	} {
		synctest.Test(t, func(t *testing.T) {
			l, ds := step.Parse("list", []byte("CHECK c http=http://h/ "+c.words+"\n"))
			if ds.Err() != nil {
				t.Fatal(ds.Err())
			}
			began := time.Now()
			err := Run(t.Context(), mem.New(mem.Options{}), &c.net, l[0])
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s: %v, want %q", c.words, err, c.want)
			}
			if took := time.Since(began); took != c.took {
				t.Errorf("%s: took %s, want %s", c.words, took, c.took)
			}
		})
	}
}

// TestOnce: one attempt, which ends at the time limit.
func TestOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, ds := step.Parse("list", []byte("CHECK c http=http://h/ within=30s\nCHECK c tcp=h:1 within=20s\n"))
		if ds.Err() != nil {
			t.Fatal(ds.Err())
		}
		net := &fake{status: 500}
		began := time.Now()
		err := Once(t.Context(), mem.New(mem.Options{}), net, l[0])
		if err == nil || time.Since(began) != 0 || net.tries != -1 {
			t.Errorf("%v, after %s and %d tries", err, time.Since(began), -net.tries)
		}
		net.status = 200
		if err := Once(t.Context(), mem.New(mem.Options{}), net, l[0]); err != nil {
			t.Error(err)
		}
		err = Once(t.Context(), mem.New(mem.Options{}), &silent{}, l[1])
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 20*time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}

// silent never answers.
type silent struct{ fake }

func (silent) TCP(ctx context.Context, _ string) error {
	<-ctx.Done()
	return ctx.Err()
}
