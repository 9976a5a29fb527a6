package step_test

import (
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/step"
	"pgregory.net/rapid"
)

func TestCanonical(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0a", 32)
	for _, c := range []struct{ in, want string }{
		{"MKDIR //srv/./a/ mode=755 group=g owner=o", "MKDIR /srv/a owner=o group=g mode=0755"},
		{"COPY " + digest + " /a", "COPY " + digest + " /a"},
		{`COPY "file one" "/a"`, `COPY "file one" /a`},
		{`COPY "#x" "a=b"`, ""},
		{`EXEC x "a=b" "#c" "" "d\te" é "\u202e" "\xff" env=B= env=A=1 timeout=300s`,
			`EXEC x "a=b" "#c" "" "d\te" é "\u202e" "\xff" env=B= env=A=1 timeout=5m`},
		{`EXEC x y undo="a   'b'  \"c d\""`, `EXEC x y undo="a b 'c d'"`},
		{"EXEC x y timeout=1h0m0s", "EXEC x y timeout=1h"},
		{"EXEC x y timeout=3600.5s", "EXEC x y timeout=1h0m0.5s"},
		{"USER a uid=007 comment=", `USER a uid=7 comment=""`},
		{"EDIT /a key=x value=#1 separator=\" \"", `EDIT /a key=x value=#1 separator=" "`},
		{`MKDIR /a\b`, `MKDIR /a\b`},
		{`MKDIR "/'" `, `MKDIR /'`},
		{"CHECK a http=http://x/?a=b status=0200 within=0.5s", "CHECK a http=http://x/?a=b status=200 within=500ms"},
	} {
		list, diags := step.Parse("x", []byte(c.in))
		got := strings.TrimSuffix(list.String(), "\n")
		if got != c.want || (c.want == "") != (len(diags) > 0) {
			t.Errorf("%s\n got %s\nwant %s\n%v", c.in, got, c.want, diags)
		}
	}
}

func TestSourceWrittenRange(t *testing.T) {
	src := "\ufeff# head\r\n \tMKDIR /é  mode=0755  #@ modules/web.hcl:10 \r\nRM /b # why\n"
	list := mustParse(t, "a.steps", src)
	s := list[0]
	if s.Source != "modules/web.hcl:10" || s.Written != "MKDIR /é  mode=0755" {
		t.Errorf("source %q, written %q", s.Source, s.Written)
	}
	want := diag.Range{File: "a.steps", Start: diag.Pos{Line: 2, Column: 3, Byte: 13},
		End: diag.Pos{Line: 2, Column: 22, Byte: 33}}
	if s.Range != want {
		t.Errorf("range %+v, want %+v", s.Range, want)
	}
	if got := src[s.Range.Start.Byte:s.Range.End.Byte]; got != s.Written {
		t.Errorf("the range holds %q", got)
	}
	if list[1].Written != "RM /b # why" || list[1].Source != "" {
		t.Errorf("second step %+v", list[1])
	}
}

// TestBadText parses texts that are not lists. Each must give its message and keep the lines around
// it.
func TestBadText(t *testing.T) {
	for _, c := range []struct{ name, line, want string }{
		{"NUL", "MKDIR /a\x00b", "x:2:9: error: NUL byte"},
		{"UTF-8", "MKDIR /é\xff", "x:2:9: error: Invalid UTF-8"},
		{"escape", "MKDIR /a \x1b[31m",
			`x:2:10: error: Control character: A list cannot contain control characters. Inside quotes, write it as \x1b.`},
		{"lone CR", "MKDIR /a\rMKDIR /b", "x:2:9: error: Control character"},
		{"bidi", "MKDIR /a\u202eb",
			`x:2:9: error: Invisible character: The line contains an invisible character. Remove it, or write it in quotes as \u202e.`},
		{"bidi in source", "MKDIR /a #@ a\u202eb", "x:2:14: error: Invisible character"},
		{"hard blank", "MKDIR /a\u00a0mode=0755", "x:2:9: error: Invisible character"},
		{"long", "MKDIR /" + strings.Repeat("a", step.MaxLine), "x:2:1: error: Line too long"},
	} {
		t.Run(c.name, func(t *testing.T) {
			list, diags := step.Parse("x", []byte("MKDIR /before\n"+c.line+"\nMKDIR /after\n"))
			if len(diags) != 1 || !strings.HasPrefix(diags[0].String(), c.want) {
				t.Fatalf("got %v", diags)
			}
			if list.String() != "MKDIR /before\nMKDIR /after\n" {
				t.Errorf("the other lines are %q", list)
			}
			if strings.ContainsAny(diags[0].Line, "\x00\x1b\r") || len(diags[0].Line) > 1000 {
				t.Errorf("the message shows %q", diags[0].Line)
			}
		})
	}
	if list, diags := step.Parse("x", []byte("RM /a # a joiner \u200d in a comment is fine")); len(list) != 1 ||
		len(diags) != 0 {
		t.Error(list, diags)
	}
}

func TestLimits(t *testing.T) {
	if list, diags := step.Parse("x", make([]byte, step.MaxFile+1)); list != nil || len(diags) != 1 ||
		diags[0].Summary != "File too large" {
		t.Error(diags)
	}
	list, diags := step.Parse("x", []byte(strings.Repeat("RM /a\n", step.MaxSteps+2)))
	if len(list) != step.MaxSteps || len(diags) != 1 || diags[0].Summary != "Too many steps" {
		t.Error(len(list), diags)
	}
	if list, diags = step.Parse("x", []byte(strings.Repeat("RM /a\n", step.MaxSteps))); len(list) != step.MaxSteps ||
		len(diags) != 0 {
		t.Error(len(list), diags)
	}
	_, diags = step.Parse("x", []byte(strings.Repeat("x\n", 1_000_000)))
	if last := diags[len(diags)-1]; len(diags) > 1001 || last.Summary != "Too many errors" {
		t.Error(len(diags), last)
	}
	wide, _ := step.Parse("x", []byte("EXEC a "+strings.Repeat("b ", step.MaxLine/2-8)))
	if len(wide) != 1 || len(wide[0].Args) != step.MaxLine/2-7 {
		t.Error("a long line of words was not read")
	}
	if list, diags := step.Parse("x", nil); list != nil || diags != nil {
		t.Error(list, diags)
	}
}

func TestNew(t *testing.T) {
	s, err := step.New(step.Mkdir, []string{"/a b/"}, step.Attr{Key: "mode", Value: "755"},
		step.Attr{Key: "owner", Value: "root"})
	if err != nil || s.String() != `MKDIR "/a b" owner=root mode=0755` {
		t.Error(s, err)
	}
	if s, err := step.New(step.Exec, []string{"x", "y", "a=b"}); err != nil || s.String() != `EXEC x y "a=b"` {
		t.Error(s, err)
	}
	_, err = step.New(step.Mkdir, nil, step.Attr{Key: "ower", Value: "x"}, step.Attr{Key: "mode", Value: "x"})
	for _, want := range []string{"cannot create a step MKDIR: Missing subject", `Did you mean "owner"?`, "Invalid mode"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not tell %q", err, want)
		}
	}
	if _, err := step.New("MKDR", nil); err == nil || !strings.Contains(err.Error(), `Did you mean "MKDIR"?`) {
		t.Error(err)
	}
	if _, err := step.New(step.Rm, []string{"/a\x00"}); err == nil {
		t.Error("a NUL byte went through")
	}
}

// TestNewReadsBack puts any text at every place that takes any text.
func TestNewReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.RuneFrom([]rune("ab=_#\"'\\\t\n \u202e\xff"))),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
		argv := append([]string{"name", "program"}, rapid.SliceOf(text).Draw(t, "argv")...)
		s, err := step.New(step.Exec, argv, step.Attr{Key: "env", Value: "A=" + text.Draw(t, "env")},
			step.Attr{Key: "env", Value: "B=1"})
		if err != nil {
			if strings.Contains(err.Error(), "NUL byte") {
				return
			}
			t.Fatal(err)
		}
		list, diags := step.Parse("x", []byte(s.String()))
		if len(diags) > 0 || len(list) != 1 {
			t.Fatalf("%s: %v", s, diags)
		}
		if !slices.Equal(list[0].Args, s.Args) || !slices.Equal(list[0].Attrs, s.Attrs) {
			t.Fatalf("%#v came back as %#v", s, list[0])
		}
	})
}

// TestByHand prints steps that no parser has ordered, and keeps what a hostile
// source comment holds on its line.
func TestByHand(t *testing.T) {
	s := step.Step{Verb: step.Mkdir, Args: []string{"/a"}, Source: "x\nRM /\x1b",
		Attrs: []step.Attr{{Key: "mode", Value: "0755"}, {Key: "owner", Value: "a b"}}}
	var b strings.Builder
	if err := step.Print(&b, step.List{s}, step.PrintOptions{Source: true}); err != nil {
		t.Fatal(err)
	}
	if want := "MKDIR /a owner=\"a b\" mode=0755 #@ x\uFFFDRM /\uFFFD\n"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
	if s.Attrs[0].Key != "mode" {
		t.Error("printing changed the step")
	}
}

func TestEditPath(t *testing.T) {
	list := mustParse(t, "x", `EDIT /etc/a#b line="# x #y"`)
	if p := list[0].Path(); p != "/etc/a#b" {
		t.Errorf("path %q", p)
	}
}

// TestLintIncomplete gives lint what no parser makes.
func TestLintIncomplete(t *testing.T) {
	for _, s := range step.Schemas() {
		list := step.List{{Verb: s.Verb}, {}, {Verb: "X", Args: []string{"a"}}}
		if d := step.Lint(list, step.DebianBase{}); len(d) != 3 {
			t.Errorf("%s: %v", s.Verb, d)
		}
		step.Reverse(list)
		step.Diff(list, list)
	}
	unclean := step.List{{Verb: step.Mkdir, Args: []string{"/srv/../etc"}}, {Verb: step.Rm, Args: []string{"x"}}}
	for _, d := range step.Lint(unclean, step.DebianBase{}) {
		if d.Summary != "Path is not clean" {
			t.Error(d)
		}
	}
}

func TestLintPlaces(t *testing.T) {
	list := mustParse(t, "x.steps", "  MKDIR /srv/é owner=www-dat")
	d := step.Lint(list, step.DebianBase{})
	if len(d) != 1 || d[0].Range.String() != "x.steps:1:16" || d[0].Line != "  MKDIR /srv/é owner=www-dat" {
		t.Errorf("%+v", d)
	}
}

func TestAddrOfEverySchema(t *testing.T) {
	for _, s := range step.Schemas() {
		a := step.Step{Verb: s.Verb, Args: []string{"/a", "/b", "/c"}}.Addr()
		if _, err := addr.Parse(string(a)); err != nil && s.Verb != step.Include {
			t.Errorf("%s has the address %q: %v", s.Verb, a, err)
		}
	}
}
