package journal

import (
	"errors"
	"fmt"
	"testing"

	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
)

// TestDamagedStateText: for each text of a state that lacks its end or has another byte somewhere, the fast parser
// returns what Unmarshal returns.
func TestDamagedStateText(t *testing.T) {
	edit, err := step.ParseLine(`EDIT /x line="a \\ \"b\" c"`)
	if err != nil {
		t.Fatal(err)
	}
	output := "o\\"
	st := State{Format: 1, Run: 12, Entries: []Entry{
		{Addr: "file:/x", Step: edit, Run: 12, FirstRun: 3, Failed: true, Undo: edit, Output: &output,
			Origin: new(image.Of(&image.File{Type: image.Regular, Mode: 0o644, Size: 2, MTime: -5}))},
		{Addr: "file:/y", Step: edit, Run: 2, FirstRun: 2, Adopted: new(image.Of(&image.File{Type: image.Absent}))}}}
	whole, err := Marshal(st)
	if err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		sameState(t, whole[:i])
		for _, c := range []byte("\"\\{}[],:0-a\x00\xff") {
			b := append([]byte{}, whole...)
			b[i] = c
			sameState(t, b)
		}
	}
}

func sameState(t *testing.T, b []byte) {
	t.Helper()
	var fast, slow State
	ferr, serr := stepFault(b, unmarshalState(b, &fast)), stepFault(b, Unmarshal(b, &slow))
	var a, z *StepError
	if (ferr == nil) != (serr == nil) || errors.As(ferr, &a) != errors.As(serr, &z) {
		t.Fatalf("%q: %v, want %v", b, ferr, serr)
	}
	if got, want := fmt.Sprint(marshalled(fast)), fmt.Sprint(marshalled(slow)); serr == nil && got != want {
		t.Fatalf("%q is read as\n%s\nwant\n%s", b, got, want)
	}
}

func marshalled(st State) string {
	b, err := Marshal(st)
	return fmt.Sprintf("%s %v", b, err)
}
