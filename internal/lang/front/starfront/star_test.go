package starfront_test

import (
	"errors"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/lang/front"
	"fettle.dev/fettle/internal/lang/front/starfront"
)

func nothing(name string) (*front.Source, error) { return nil, errors.New("cannot read " + name) }

// Every literal value in a call has its own place. A computed value has the place of the call.
func TestPlaces(t *testing.T) {
	src := front.NewSource("p.star",
		[]byte("def f(n):\n  file(n,\n    after = [\"a\", \"b\"], vars = {\"k\": expr(\"ü.x\")}, **{\"z\": 1})\n\nf(\"x\")\n"))
	doc, err := starfront.Run(src, nothing)
	if err != nil {
		t.Fatal(err)
	}
	attrs := doc.Items[0].Pairs[0].Value.Pairs[0].Value.Pairs
	for i, want := range []string{"p.star:3:5 p.star:3:13", "p.star:3:25 p.star:3:32", "p.star:2:3 p.star:2:3"} {
		if got := attrs[i].Key.Range().String() + " " + attrs[i].Value.Range().String(); got != want {
			t.Errorf("%s is at %s, want %s", attrs[i].Key.Text, got, want)
		}
	}
	if got := attrs[0].Value.Items[1].Range().String(); got != "p.star:3:19" {
		t.Errorf("the second of a list is at %s", got)
	}
	k := attrs[1].Value.Pairs[0]
	if got := k.Key.Range().String() + " " + k.Value.Range().String(); got != "p.star:3:33 p.star:3:44" {
		t.Errorf("a key and its expression are at %s", got)
	}
	if at := k.Value.Places(); at[len(at)-1]-at[0] != len("ü.x") {
		t.Errorf("places %v", at)
	}
}

// Programs have limits. Exceeding a limit is reported with its place.
func TestBounds(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"steps":  {"[0 for i in range(100000) for j in range(100000)]", "more than 10000000 computation steps"},
		"range":  {"range(100001)", "more than 100000 numbers"},
		"file":   {strings.Repeat("#", starfront.MaxFile+1), "limit for Starlark"},
		"values": {"def f():\n  x = [1]\n  for i in range(40):\n    x = [x, x]\n  locals(a = x)\nf()", "500000 values"},
		"loads":  {"load(\"x.star\", \"y\")", "cannot read x.star"},
		"while":  {"while True:\n  pass", "while"},
		"depth":  {"def f():\n  f()\nf()", "recursively"},
	} {
		_, err := starfront.Run(front.NewSource("p.star", []byte(c.text)), nothing)
		if err == nil || !strings.Contains(err.Detail, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A program of a realistic size is not an error.
func TestRoom(t *testing.T) {
	doc, err := starfront.Run(front.NewSource("p.star",
		[]byte("[file(\"/etc/%d\" % i) for i in range(20000) for j in range(20) if i % 20 == j]")), nothing)
	if err != nil || len(doc.Items) != 20000 {
		t.Fatal(err)
	}
}
