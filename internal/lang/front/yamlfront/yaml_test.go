package yamlfront_test

import (
	"strings"
	"testing"

	"fettle.dev/fettle/internal/lang/front"
	"fettle.dev/fettle/internal/lang/front/yamlfront"
)

func parse(t *testing.T, text string) *front.Node {
	t.Helper()
	doc, err := yamlfront.Parse(front.NewSource("f.yaml", []byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// In every style the place of a word of a value is where the word is written.
func TestPlaces(t *testing.T) {
	for name, text := range map[string]string{
		"plain":              "a: one WORD two\n",
		"plain folded":       "a: one\n  two\n\n  three WORD four\n",
		"single":             "a: 'it''s WORD'\n",
		"single folded":      "a: 'it''s\n   two  \n  WORD'\n",
		"double":             "a: \"\\u00fc \\\"q\\\" \\x41 \\n WORD\"\n",
		"double folded":      "a: \"one\n\n   two \\\n   WORD\"\n",
		"double with breaks": "a: \"one\\n\\\n   \\ \\ WORD\"\n",
		"literal":            "a: |\n  one\n   two\n\n  WORD\n",
		"literal indented":   "a: |2\n    one\n  two WORD\n",
		"literal kept":       "a: |+\n  one\n\n  WORD\n\n\n",
		"folded":             "a: >-\n  one\n  two\n\n    more\n  WORD x\n",
		"folded in a list":   "- - >\n    öäü ß\n    WORD\n",
		"key":                "? WORD\n: x\n",
		"after comments":     "# WARD\na: # x\n\n  WORD\n",
		"in a flow":          "{a: [b, {c: 'x WORD'}]}\n",
		"long blanks":        "a: 'x" + strings.Repeat(" ", 100_000) + "WORD'\n",
		"windows":            "a: |\r\n  one\r\n  WORD\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			n, i := find(parse(t, text))
			if n == nil {
				t.Fatal("no WORD in the values")
			}
			places := n.Places()
			if len(places) != len(n.Text)+1 {
				t.Fatalf("%d places for %q", len(places), n.Text)
			}
			if got, want := places[i], strings.Index(text, "WORD"); got != want {
				t.Errorf("WORD of %.60q is at byte %d, want %d", n.Text, got, want)
			}
		})
	}
}

// find looks for the word in texts and keys.
func find(n *front.Node) (*front.Node, int) {
	if i := strings.Index(n.Text, "WORD"); i >= 0 {
		return n, i
	}
	for _, item := range n.Items {
		if m, i := find(item); m != nil {
			return m, i
		}
	}
	for _, p := range n.Pairs {
		for _, half := range []*front.Node{p.Key, p.Value} {
			if m, i := find(half); m != nil {
				return m, i
			}
		}
	}
	return nil, 0
}

// The type of a scalar depends on its notation. A notation that other programs read differently is
// refused.
func TestScalars(t *testing.T) {
	for text, want := range map[string]front.Kind{
		"": front.Null, "~": front.Null, "null": front.Null, "true": front.Bool, "False": front.Bool,
		"yes": front.Text, "on": front.Text, "1": front.Number, "-1.5e3": front.Number, "0": front.Number,
		"'1'": front.Text, "2001-01-01": front.Text, "1.2.3": front.Text, "12:30:45": front.Text, "'true'": front.Text,
	} {
		if n := parse(t, "a: "+text+"\n").Pairs[0].Value; n.Kind != want {
			t.Errorf("%q is a %s, want %s", text, n.Kind, want)
		}
	}
	for _, text := range []string{"0644", "0x1f", "0o17", "1_000", ".inf", ".nan", "+1", "1.", ".5", "0b1"} {
		if _, err := yamlfront.Parse(front.NewSource("f", []byte("a: "+text))); err == nil {
			t.Errorf("%s is taken as a number", text)
		}
	}
	if k := parse(t, "0644: x\n").Pairs[0].Key; k.Text != "0644" || k.Kind != front.Text {
		t.Errorf("a key is %q", k.Text)
	}
}
