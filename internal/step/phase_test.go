package step_test

import (
	"strings"
	"testing"

	"fettle.dev/fettle/internal/step"
)

func phased(t *testing.T, text string) step.List {
	t.Helper()
	l, ds := step.Parse("x.steps", []byte(text))
	if err := ds.Err(); err != nil {
		t.Fatal(err)
	}
	return l
}

const twoSites = `EXEC a true output=stdout
LINK one /etc/a
LINK one /etc/b
EXEC b true
LINK two /etc/a phase=2
EXEC c true
LINK two /etc/b phase=2
LINK three /etc/a phase=3
EXEC d true
`

func TestStages(t *testing.T) {
	l := phased(t, twoSites)
	want := []string{
		"EXEC a true output=stdout\nLINK one /etc/a\nLINK one /etc/b\nEXEC b true\n",
		"EXEC a true output=stdout\nEXEC b true\nLINK two /etc/a phase=2\nEXEC c true\nLINK two /etc/b phase=2\n",
		"EXEC a true output=stdout\nEXEC b true\nEXEC c true\nLINK two /etc/b phase=2\nLINK three /etc/a phase=3\nEXEC d true\n",
	}
	got := l.Stages()
	if len(got) != len(want) {
		t.Fatalf("%d stages, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i].String() != want[i] {
			t.Errorf("stage %d:\n%s\nwant\n%s", i+1, got[i], want[i])
		}
	}
	if l.Final().String() != want[2] {
		t.Errorf("final:\n%s", l.Final())
	}
	plain := phased(t, "LINK one /etc/a\nLINK one /etc/b\n")
	if s := plain.Stages(); len(s) != 1 || len(s[0]) != 2 {
		t.Errorf("a list without phases has the stages %v", s)
	}
	if later := l.Later(1)["file:/etc/a"]; len(later) != 2 || later[0].Phase() != 2 || later[1].Phase() != 3 {
		t.Errorf("later: %v", later)
	}
}

func TestPhaseErrors(t *testing.T) {
	for _, x := range []struct{ text, want string }{
		{"LINK one /etc/a phase=1\n", "Invalid phase"},
		{"LINK one /etc/a phase=101\n", "Invalid phase"},
		{"LINK one /etc/a phase=x\n", "Invalid number"},
		{"UNIT a.service phase=2\n", "UNIT has no attributes"},
		{"EXEC a true output=out\n", "neither stdout nor a clean absolute path"},
		{"LINK two /etc/a phase=2\n", "Phase out of order"},
		{"LINK one /etc/a\nLINK three /etc/a phase=3\n", "Phase out of order"},
		{"LINK one /etc/a\nLINK two /etc/a phase=2\nLINK again /etc/a phase=2\n", "Phase out of order"},
		{"LINK one /etc/a\nLINK two /etc/a phase=2\nLINK again /etc/a\n", "Address written twice"},
	} {
		l, ds := step.Parse("x.steps", []byte(x.text))
		if !ds.HasErrors() {
			ds = step.Lint(l, step.DebianBase{})
		}
		if !ds.HasErrors() || !strings.Contains(ds.Err().Error(), x.want) {
			t.Errorf("%q gives %v, want %q", x.text, ds, x.want)
		}
	}
	if ds := step.Lint(phased(t, twoSites), step.DebianBase{}); ds.HasErrors() {
		t.Errorf("a list with phases is refused: %v", ds)
	}
}
