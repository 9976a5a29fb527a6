package step_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/step"
)

// TestText: a stored step is read as the same step with the same text.
func TestText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for _, s := range drawList(t, "list") {
			got, err := step.ParseLine(s.String())
			if err != nil || !alike(got, s.Stored()) {
				t.Fatalf("%s is read as %#v, %v, want %#v", s, got, err, s.Stored())
			}
		}
	})
}

// alike reports whether two steps are equal in all fields that a stored step has.
func alike(a, b step.Step) bool {
	return a.Verb == b.Verb && slices.Equal(a.Args, b.Args) && slices.Equal(a.Attrs, b.Attrs) &&
		a.String() == b.String() && a.Source+b.Source+a.Written+b.Written == "" && a.Range == b.Range &&
		len(a.Trace) == len(b.Trace)
}

// TestTextInJSON: a step is a string, and the zero Step can be omitted.
func TestTextInJSON(t *testing.T) {
	type holder struct {
		Step  step.Step `json:"step,omitzero"`
		Other step.Step `json:"other,omitzero"`
		Third step.Step `json:"third"`
	}
	const text = `{"step":"EDIT /etc/x line=\"a \u003c b\\x80\"","third":""}`
	var h holder
	if err := json.Unmarshal([]byte(text), &h); err != nil {
		t.Fatal(err)
	}
	if line, _ := h.Step.Lookup("line"); line != "a < b\x80" || !h.Other.IsZero() || !h.Third.IsZero() {
		t.Errorf("read %#v", h)
	}
	if b, err := json.Marshal(h); string(b) != text || err != nil {
		t.Errorf("wrote %s, %v, want %s", b, err, text)
	}
}

// TestTextKeepsItsBytes: a text in an older form stays the text of its step.
func TestTextKeepsItsBytes(t *testing.T) {
	s, err := step.ParseLine("MKDIR /srv//x mode=755")
	if err != nil || s.String() != "MKDIR /srv//x mode=755" || s.Path() != "/srv/x" {
		t.Errorf("read %q of %s, %v", s, s.Path(), err)
	}
}

// TestTextIsRefused: a text that is not one step is an error that quotes it, and the step is not changed.
func TestTextIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"FROB /x":          `"FROB /x"` + ": Unknown verb: There is no verb \"FROB\".",
		"COPY":             `"COPY"` + ": Missing subject",
		"MKDIR /a mode=x":  "mode",
		"MKDIR /a\nRM /b":  "it is not one line",
		"MKDIR /a\n":       "it is not one line",
		"# only a comment": `"# only a comment"`,
		"MKDIR \xff":       `\xff`,
		" ":                `" "`,
	} {
		s, _ := step.ParseLine("RM /kept")
		err := s.UnmarshalText([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || s.String() != "RM /kept" {
			t.Errorf("%q is read as %q: %v, want %q", text, s, err, want)
		}
	}
}

// TestLineReader: lines that one reader reads do not affect each other.
func TestLineReader(t *testing.T) {
	var r step.LineReader
	var list step.List
	lines := strings.SplitAfter(string(manySteps(300)), "\n")
	for _, line := range lines {
		line, _, _ = strings.Cut(line, " #@")
		if s, err := r.Read(strings.TrimSpace(line)); err != nil {
			t.Fatal(err)
		} else if list = append(list, s); len(list)%7 == 0 {
			if _, err := r.Read("MKDIR"); err == nil {
				t.Fatal("read MKDIR without a path")
			}
		}
	}
	for i, s := range list[:300] {
		want, err := step.ParseLine(s.String())
		if err != nil || !alike(s, want) {
			t.Fatalf("line %d is %#v, want %#v", i, s, want)
		}
	}
}
