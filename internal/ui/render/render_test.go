package render_test

import (
	"bytes"
	"flag"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/size"
	"fettle.dev/fettle/internal/ui/render"
)

// update rewrites golden files. Review the difference like code.
var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := "testdata/" + name + ".golden"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s (%v)", name, got, want, err)
	}
}

// visibleColors writes escape sequences so that a golden file can be read.
func visibleColors(s string) string { return strings.ReplaceAll(s, "\x1b", "␛") }

func bigPlan() *plan.Plan {
	known := new(image.Of(&image.File{Type: image.Regular}))
	long := "--- a\n+++ b\n@@ -1,50 +1,50 @@\n-old\n+new\n"
	for i := range 50 {
		long += " line " + strconv.Itoa(i) + "\n"
	}
	p := &plan.Plan{Operation: journal.OpApply, Target: "web1", Base: 12, Unchanged: 240,
		Revision: repo.Revision{Commit: "3f2a1c9900112233445566778899aabbccddeeff", Subject: "web: a \x1b]0;title\x07 site",
			Dirty: true},
		Changes: []plan.Change{
			{Action: plan.Create, Addr: "file:/srv/www", Why: "new in the list", To: known,
				Source: "modules/web/module.hcl:10", Differences: []image.Difference{{Field: "mode", New: "0755"}}},
			{Action: plan.Update, Addr: "file:/etc/nginx/nginx.conf", Why: "changed in the list", To: known, Diff: long,
				Differences: []image.Difference{{Field: "mode", Old: "0644", New: "0600"},
					{Field: "content", Old: "sha256:" + strings.Repeat("a", 64), New: "sha256:" + strings.Repeat("b", 64)}}},
			{Action: plan.Update, Addr: "file:/usr/share/logo.png", Why: "changed in the list", To: known, Binary: true,
				Differences: []image.Difference{{Field: "content", Old: "sha256:" + strings.Repeat("c", 64),
					New: "sha256:" + strings.Repeat("d", 64)}}},
			{Action: plan.Repair, Addr: "file:/etc/motd", Why: "changed since it was applied", To: known, Drifted: true,
				Note: "the foreign content is kept",
				Differences: []image.Difference{{Field: "owner", Old: "evil\r\x1b[2Jname", New: "root"},
					{Field: "group", Old: "", New: "root"}}},
			{Action: plan.Create, Addr: "file:/home/jane/.profile", Why: "new in the list"},
			{Action: plan.Remove, Addr: addr.Addr("file:/srv/" + strings.Repeat("very-long-", 6) + "name"),
				Why: "no longer in the list", To: new(image.Of(&image.File{Type: image.Absent}))},
			{Action: plan.Purge, Addr: "file:/srv/www/stray", Why: "purged by file:/srv/www", To: known},
			{Action: plan.Run, Addr: "exec:migrate", Why: "it has not run yet", Irreversible: "the command has no undo"},
			{Action: plan.Run, Addr: "act:reload/nginx.service", Why: "notified by file:/etc/nginx/nginx.conf"},
			{Action: plan.Verify, Addr: "check:answers", Why: "after the run"},
			{Action: plan.Forget, Addr: "pkg:curl", Why: "no longer in the list, never changed"},
		}}
	for i := range 9 {
		p.Changes = append(p.Changes, plan.Change{Action: plan.Adopt, Addr: addr.File("/etc/found" + strconv.Itoa(i)),
			Why: "found in sync"})
	}
	return p
}

func TestPlan(t *testing.T) {
	for name, c := range map[string]struct {
		style render.Style
		o     render.PlanOptions
	}{
		"plan":         {render.Style{}, render.PlanOptions{}},
		"plan-diff":    {render.Style{Width: 80}, render.PlanOptions{DiffLines: 5}},
		"plan-verbose": {render.Style{}, render.PlanOptions{DiffLines: -1, Verbose: true}},
		"plan-color":   {render.Style{Color: true, Width: 80}, render.PlanOptions{DiffLines: 3}},
	} {
		var b bytes.Buffer
		c.style.Plan(&b, bigPlan(), c.o)
		golden(t, name, visibleColors(b.String()))
	}
}

func TestPlanNothing(t *testing.T) {
	var b bytes.Buffer
	render.Style{}.Plan(&b, &plan.Plan{Operation: journal.OpApply, Base: 3, Unchanged: 7}, render.PlanOptions{})
	render.Style{}.Plan(&b, &plan.Plan{Operation: journal.OpRollback, Base: 3, To: 0}, render.PlanOptions{})
	golden(t, "plan-nothing", b.String())
}

func TestDiagnostics(t *testing.T) {
	at := func(line, from, to int) diag.Range {
		return diag.Range{File: "modules/web/module.hcl", Start: diag.Pos{Line: line, Column: from},
			End: diag.Pos{Line: line, Column: to}}
	}
	list := diag.List{
		{Summary: "Unknown attribute", Detail: "A file has no attribute \"ower\". Did you mean \"owner\"?",
			Range: at(12, 2, 6), Line: "\tower = \"root\"",
			Trace: []diag.Range{at(3, 1, 2), {File: "fettle.hcl", Start: diag.Pos{Line: 1, Column: 1}}}},
		{Severity: diag.Warning, Summary: "Unused variable",
			Detail: "Nothing uses it. " + strings.Repeat("This goes on and on. ", 10), Range: at(100, 5, 11),
			Line: "größe = \"wide 日本\""},
		{Summary: "No place", Detail: "Only words."},
		{Summary: "Whole file", Range: diag.Range{File: "fettle.hcl"}},
		{Summary: "Long line", Range: at(7, 200, 205), Line: strings.Repeat("x", 199) + "WRONG" + strings.Repeat("y", 300)},
		{Summary: "Hostile \x1b[2J", Detail: "one\ntwo\x07", Range: at(1, 2, 900), Line: "a\x1b[31mb"},
		{Summary: "Beyond the line", Range: at(1, 50, 60), Line: "short"},
	}
	var b bytes.Buffer
	render.Style{Width: 80}.Diagnostics(&b, list)
	golden(t, "diagnostics", b.String())
}

func TestReport(t *testing.T) {
	var b bytes.Buffer
	saved := &executor.Failure{Addr: "exec:migrate", Error: "exit code 1", Step: "EXEC migrate migrate", Source: "m.hcl:5"}
	for _, r := range []executor.Report{
		{Outcome: journal.Succeeded},
		{Run: 4, Outcome: journal.Succeeded, Changed: 3, Duration: 42 * time.Millisecond,
			Checks:    []executor.CheckResult{{Addr: "check:up", OK: true}},
			Notes:     []string{"kept foreign file /srv/www/x"},
			ConfirmBy: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC).UnixNano()},
		{Run: 5, Outcome: journal.Failed, Changed: 1, Duration: 3 * time.Minute,
			Pending: []addr.Addr{"act:reload/nginx.service"},
			Failed: &executor.Failure{Addr: "file:/etc/x", Error: "cannot write:\nno space left",
				Step: "COPY sha256:… /etc/x", Source: "m.hcl:3"},
			Remaining: []addr.Addr{"a:1", "a:2", "a:3", "a:4", "a:5", "a:6", "a:7", "a:8", "a:9", "a:10", "a:11", "a:12"}},
		{Run: 6, Outcome: journal.CheckFailed, Changed: 1, Duration: time.Second,
			Checks: []executor.CheckResult{{Addr: "check:up", Error: "status 500", Source: "m.hcl:9"}}},
		{Run: 7, Outcome: journal.RolledBack, Duration: time.Microsecond},
		{Run: 8, Outcome: journal.Interrupted, Changed: 2, Duration: time.Second},
		{Run: 9, Outcome: journal.Failed, Changed: 4, Duration: time.Second, Failed: saved,
			Rescued:   []*executor.Failure{saved},
			Notes:     []string{"block.deploy failed and was rescued; states that do not come after it continue"},
			Remaining: []addr.Addr{"exec:behind"}},
		{Run: 10, Outcome: journal.Failed, Changed: 4, Duration: time.Second,
			Failed: &executor.Failure{Addr: "pkg:x", Error: "no network"}, Rescued: []*executor.Failure{saved}},
		{Run: 11, Outcome: journal.Failed, Changed: 1, Duration: time.Second, Remaining: []addr.Addr{"file:/etc/x"},
			NotUndone: []addr.Addr{"exec:migrate"},
			Notes:     []string{"exec:migrate has no undo, so its effects stay"}},
	} {
		render.Style{}.Report(&b, "Applied", &r, time.UTC)
		b.WriteString("---\n")
	}
	golden(t, "report", b.String())
}

func TestProgress(t *testing.T) {
	events := []executor.Event{
		{Kind: "start", Index: 0, Total: 3, Action: plan.Create, Addr: "file:/a"},
		{Kind: "done", Index: 0, Total: 3, Action: plan.Create, Addr: "file:/a"},
		{Kind: "start", Index: 1, Total: 3, Action: plan.Run, Addr: "exec:long\x1b[2J"},
		{Kind: "wait", Index: 1, Total: 3, Addr: "exec:long", Text: "for the dpkg lock"},
		{Kind: "progress", Total: 3, Text: "unpacking nginx (1.22)"},
		{Kind: "failed", Index: 1, Total: 3, Addr: "exec:long", Text: "exit status 1\nthe report has the rest"},
		{Kind: "undo", Index: 0, Total: 3, Addr: "file:/a"},
		{Kind: "note", Addr: "file:/b", Text: "kept"},
		{Kind: "check", Addr: "check:up", Text: "waiting for 127.0.0.1:80"},
		{Kind: "done", Index: 2, Total: 3, Action: plan.Adopt, Addr: "file:/quiet"},
	}
	for _, live := range []bool{false, true} {
		var b bytes.Buffer
		now := time.Unix(1e9, 0)
		p := render.NewProgress(&b, render.Style{Width: 40}, live,
			func() time.Time { now = now.Add(time.Second); return now })
		for _, e := range events {
			p.Show(e)
			if e.Kind == "progress" {
				p.Tick()
			}
		}
		p.Close()
		p.Tick()
		p.Close()
		golden(t, "progress-"+map[bool]string{true: "live", false: "plain"}[live],
			strings.ReplaceAll(visibleColors(b.String()), "\r", "␍"))
	}
}

func TestTable(t *testing.T) {
	var b bytes.Buffer
	s := render.Style{Width: 30}
	s.Table(&b, []string{"RUN", "WHO", "WHAT"}, [][]string{{"1", "jörg", "something longer than the screen is wide"},
		{"12", "x\ty", ""}})
	s.Pairs(&b, []render.Pair{{"name", "value"}, {"empty", ""}, {"longer name", "two\nlines\x1b"}})
	s.Error(&b, "cannot do it\nbecause", "type this\nor that")
	s.Warning(&b, "mind \x07 this")
	s.ListDiff(&b, []string{"-MKDIR /a", "+MKDIR /b"})
	s.Drift(&b, &plan.Plan{}, render.PlanOptions{})
	for _, n := range []int64{0, 1023, 1536, 3 << 20, 5 << 40} {
		b.WriteString(size.Rounded(n) + "\n")
	}
	golden(t, "table", b.String())
}

// TestEscape: whatever comes in, nothing that a terminal acts on comes out, and
// what is safe stays as it is.
func TestEscape(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := string(rapid.SliceOf(rapid.Byte()).Draw(t, "in"))
		out := render.Escape(in)
		for _, r := range out {
			if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar &&
				!strings.ContainsRune(in, r) {
				t.Fatalf("Escape(%q) = %q holds %U", in, out, r)
			}
		}
		if render.Escape(out) != out {
			t.Fatalf("Escape is not idempotent on %q", in)
		}
	})
	for in, want := range map[string]string{"größe 日本": "größe 日本", "a\u202eb": `a\u202eb`, "\xff": `\xff`,
		"a\nb": `a\nb`} {
		if got := render.Escape(in); got != want {
			t.Errorf("Escape(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestNoControl: no rendering lets a control character of foreign text through.
func TestNoControl(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOf(rapid.RuneFrom([]rune("ab \x1b\x07\r\n\t\x7f\u202e\u009b/"))).Draw(t, "text")
		var b bytes.Buffer
		style := render.Style{Width: rapid.IntRange(0, 200).Draw(t, "width")}
		style.Plan(&b, &plan.Plan{Target: s, Revision: repo.Revision{Commit: s, Subject: s},
			Changes: []plan.Change{{Action: plan.Action(s), Addr: addr.Addr(s), Why: s, Note: s, Irreversible: s, Diff: s,
				Source:      s,
				Differences: []image.Difference{{Field: s, Old: s, New: s}}}}}, render.PlanOptions{DiffLines: 5, Verbose: true})
		style.Diagnostics(&b, diag.List{{Summary: s, Detail: s, Line: s,
			Range: diag.Range{File: s, Start: diag.Pos{Line: 1, Column: 3}}, Trace: []diag.Range{{File: s}}}})
		style.Report(&b, "Applied", &executor.Report{Run: 1, Notes: []string{s},
			Failed: &executor.Failure{Addr: addr.Addr(s), Error: s, Step: s, Source: s}}, time.UTC)
		style.Table(&b, []string{"A"}, [][]string{{s}})
		for _, r := range b.String() {
			if r != '\n' && unicode.IsControl(r) || r == '\u202e' {
				t.Fatalf("%q gives %q", s, b.String())
			}
		}
	})
}

func ExampleStyle_Summary() {
	p := &plan.Plan{Unchanged: 12, Changes: []plan.Change{{Action: plan.Create}, {Action: plan.Create},
		{Action: plan.Run}}}
	os.Stdout.WriteString(render.Style{}.Summary(p))
	// Output: Plan: 2 to create, 1 to run; 12 in sync.
}

// A cell is one line, and a long message does not make a page of a table.
func TestTableHasOneLineARow(t *testing.T) {
	var out strings.Builder
	render.Style{}.Table(&out, []string{"NAME", "REASON"},
		[][]string{{"web1", "it failed:\nline two"}, {"web2", strings.Repeat("x", 400)}})
	want := "NAME  REASON\nweb1  it failed: …\nweb2  " + strings.Repeat("x", 119) + "…\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

// TestNarrowTable: a narrow screen shortens columns of words, the widest first. Names, identifiers and
// short columns stay complete.
func TestNarrowTable(t *testing.T) {
	header := []string{"TARGET", "STATE", "LABELS", "SERIAL", "REASON"}
	const reason = "exec:migrate: exit status 1: the database does not answer"
	rows := [][]string{
		{"web-with-a-long-name", "failed", "env=prod,role=web,site=fra", "5f3a9c0011", reason},
		{"db1", "ready", "", "00", ""},
	}
	var out strings.Builder
	render.Style{Width: 80}.Table(&out, header, rows)
	want := `TARGET                STATE   LABELS              SERIAL      REASON
web-with-a-long-name  failed  env=prod,role=web…  5f3a9c0011  exec:migrate: exi…
db1                   ready                       00
`
	if out.String() != want {
		t.Errorf("it prints\n%s", out.String())
	}
	out.Reset()
	render.Style{}.Table(&out, header, rows)
	if !strings.Contains(out.String(), "site=fra  5f3a9c0011  "+reason) {
		t.Errorf("without a screen it prints\n%s", out.String())
	}
}
