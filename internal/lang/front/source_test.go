package front_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"fettle.dev/fettle/internal/lang/front"
)

// Line, column and byte lead back to one another, in long lines too.
func TestPlaces(t *testing.T) {
	text := "a\nöäü x\n\n" + strings.Repeat("é1", 700) + "\nend"
	s := front.NewSource("f", []byte(text))
	line, column := 1, 1
	for i, r := range text {
		at := s.Range(i, i).Start
		if at.Line != line || at.Column != column || at.Byte != i {
			t.Fatalf("byte %d is at %d:%d (%d), want %d:%d", i, at.Line, at.Column, at.Byte, line, column)
		}
		if back := s.Offset(line, column); back != i {
			t.Fatalf("%d:%d is byte %d, want %d", line, column, back, i)
		}
		if column++; r == '\n' {
			line, column = line+1, 1
		}
	}
	if got := s.Offset(2, 99); got != len("a\nöäü x") {
		t.Errorf("past the end of a line: %d", got)
	}
	if s.Offset(99, 1) != len(text) || s.Offset(0, 0) != 0 || !utf8.ValidString(text) {
		t.Error("outside of the text")
	}
}

func TestRendered(t *testing.T) {
	tmpl := front.NewSource("t", []byte("x: ${a}\ny: 1\n"))
	s := front.Rendered([]byte("x: long value\ny: 1\n"), tmpl,
		[]front.Segment{{At: 0, From: 0}, {At: 3, From: 3, Whole: true}, {At: 13, From: 7}})
	for at, want := range map[int]string{0: "t:1:1", 3: "t:1:4", 9: "t:1:4", 14: "t:2:1", 17: "t:2:4"} {
		if got := s.Range(at, at).String(); got != want {
			t.Errorf("byte %d is at %s, want %s", at, got, want)
		}
	}
}
