package step_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/step"
	"github.com/rogpeppe/go-internal/txtar"
)

// wish is a message that the comment on a line asks for.
var wish = regexp.MustCompile(` # (ERROR|WARNING|REQUIRE) `)

// expectations reads the messages that each line asks for, as "error: REGEXP".
// REQUIRE is an error only where undo is demanded.
func expectations(src string, undo bool) map[int][]string {
	out := map[int][]string{}
	for i, line := range strings.Split(src, "\n") {
		at := wish.FindAllStringSubmatchIndex(line, -1)
		for j, m := range at {
			end := len(line)
			if j+1 < len(at) {
				end = at[j+1][0]
			}
			kind := strings.ToLower(line[m[2]:m[3]])
			if kind == "require" {
				if !undo {
					continue
				}
				kind = "error"
			}
			out[i+1] = append(out[i+1], kind+": .*"+line[m[1]:end])
		}
	}
	return out
}

// compare fails on missing and on unexpected messages.
func compare(t *testing.T, src string, undo bool, diags diag.List) {
	t.Helper()
	want := expectations(src, undo)
	for _, d := range diags {
		line, text := d.Range.Start.Line, fmt.Sprintf("%s: %s: %s", d.Severity, d.Summary, d.Detail)
		found := false
		for i, w := range want[line] {
			if regexp.MustCompile(w).MatchString(text) {
				want[line] = append(want[line][:i:i], want[line][i+1:]...)
				found = true
				break
			}
		}
		if !found {
			t.Errorf("line %d: nobody expects %q", line, text)
		}
		if whole := diag.LineAt([]byte(src), line); !strings.HasPrefix(strings.ReplaceAll(whole, "\t", " "),
			strings.ReplaceAll(d.Line, "\t", " ")) {
			t.Errorf("line %d is %q, and the message shows %q", line, whole, d.Line)
		}
	}
	for line, missing := range want {
		for _, w := range missing {
			t.Errorf("line %d: no message matches %q", line, w)
		}
	}
}

func eachList(t *testing.T, archive string, check func(t *testing.T, name, src string)) {
	t.Helper()
	a, err := txtar.ParseFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range a.Files {
		t.Run(f.Name, func(t *testing.T) { check(t, f.Name, string(f.Data)) })
	}
}

func TestParseErrors(t *testing.T) {
	eachList(t, "testdata/parse.txtar", func(t *testing.T, name, src string) {
		list, diags := step.Parse(name, []byte(src))
		compare(t, src, false, diags)
		checkRoundTrip(t, list)
	})
}

func TestLintErrors(t *testing.T) {
	eachList(t, "testdata/lint.txtar", func(t *testing.T, name, src string) {
		list, diags := step.Parse(name, []byte(src))
		if len(diags) > 0 {
			t.Fatal(diags.Err())
		}
		compare(t, src, false, step.Lint(list, step.DebianBase{}))
		compare(t, src, true, step.LintOptions{RequireUndo: true}.Lint(list, step.DebianBase{}))
	})
}
