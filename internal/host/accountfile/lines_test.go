package accountfile

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestWithout: taking entries out and putting them back is nothing, and no
// input panics.
func TestWithout(t *testing.T) {
	line := rapid.StringMatching(`(|#.*|[abc]:[a-z,:]*|\+::|[abc])\n`)
	rapid.Check(t, func(t *rapid.T) {
		content := strings.Join(rapid.SliceOf(line).Draw(t, "lines"), "")
		l := splitLines(content)
		if l.String() != content {
			t.Fatalf("%q became %q", content, l.String())
		}
		name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name")
		text, at := l.take(name)
		rest := l.without(name)
		if left, _ := rest.take(name); left != "" {
			t.Fatalf("%q is left", left)
		}
		if back := rest.with(name, text, at); back.String() != content {
			t.Fatalf("%q came back as %q", content, back.String())
		}
		if again := l.with(name, text, at); again.String() != content {
			t.Fatalf("%q restored over itself is %q", content, again.String())
		}
	})
}

// TestAsNear: if the file changed meanwhile, an entry is restored completely.
func TestAsNear(t *testing.T) {
	for at, want := range map[string]string{
		"":      "x:1\ny:2\nbob:3\n",
		"1":     "bob:3\nx:1\ny:2",
		"99":    "x:1\ny:2\nbob:3\n",
		"0":     "x:1\ny:2\nbob:3\n",
		"-5":    "x:1\ny:2\nbob:3\n",
		"seven": "x:1\ny:2\nbob:3\n",
	} {
		if got := splitLines("x:1\ny:2").with("bob", "bob:3", at).String(); got != want {
			t.Errorf("at %q: %q", at, got)
		}
	}
}
