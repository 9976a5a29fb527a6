package journal_test

import (
	"encoding/json"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/step"
)

// TestStepsKeepTheirText: bytes that are not UTF-8 do not change the text of a step beside them.
func TestStepsKeepTheirText(t *testing.T) {
	type holder struct {
		Path string    `json:"path"`
		Step step.Step `json:"step"`
	}
	const want = "{\"path\":\"/\U0010fffe\",\"step\":\"EDIT /x line=\\\"\\\\x80 \\\\U0010ff80\\\"\"}"
	edit := must(step.New(step.Edit, []string{"/x"}, step.Attr{Key: "line", Value: "\x80 \U0010ff80"}))(t)
	in := holder{Path: "/\xfe", Step: edit}
	b := must(journal.Marshal(in))(t)
	if string(b) != want {
		t.Errorf("wrote %s, want %s", b, want)
	}
	var back holder
	check(t, journal.Unmarshal(b, &back))
	if line := back.Step.Get("line"); back.Path != in.Path || line != "\x80 \U0010ff80" || !back.Step.Same(in.Step) {
		t.Errorf("read %q %q %q", back.Path, line, back.Step)
	}
}

// TestReadable: a value is copied only if JSON would change its strings, or if they look like the text of Marshal.
func TestReadable(t *testing.T) {
	for in, want := range map[string]string{
		"plain":        "plain",
		"caf\xe9":      "caf\U0010ffe9",
		"a \U0010ffe9": "a \U0010fff4\U0010ff8f\U0010ffbf\U0010ffa9",
	} {
		b := must(json.Marshal(in))(t)
		if got := journal.Readable(in, b); got != want {
			t.Errorf("%q is readable as %q, want %q", in, got, want)
		}
		var back string
		check(t, journal.Unmarshal(must(json.Marshal(want))(t), &back))
		if back != in {
			t.Errorf("%q comes back as %q", in, back)
		}
	}
}

// TestUnmarshalStrict: unknown fields and data after the value are errors, and strings return as they were.
func TestUnmarshalStrict(t *testing.T) {
	for text, want := range map[string]string{
		`{"path":"/\U0010fffe"}`:     "/\xfe",
		`{"path":"/a","other":1}`:    "error",
		`{"path":"/a"} {}`:           "error",
		`{"path":"/a"}` + "\n":       "/a",
		`{"path":1}`:                 "error",
		`{"path":"/a"`:               "error",
		`{"path":"/a","path":"/bc"}`: "/bc",
	} {
		var v struct {
			Path string `json:"path"`
		}
		got := "error"
		if err := journal.UnmarshalStrict([]byte(strings.ReplaceAll(text, `\U0010fffe`, "\U0010fffe")), &v); err == nil {
			got = v.Path
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
