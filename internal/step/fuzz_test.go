package step_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"fettle.dev/fettle/internal/step"
)

// seeds hold every verb and every way to write a value.
var seeds = []string{
	"MKDIR /tmp/blaat\nCOPY file1 /tmp/blaat/file1\r\n",
	"  MKDIR\t/srv//www/ mode=755 owner=www-data #@ modules/web/module.hcl:10\n",
	"COPY sha256:0000000000000000000000000000000000000000000000000000000000000000 /a mode=0644 validate=\"visudo  -c '-f' %s\" # note",
	"LINK \"a b\" /l\nMETA /x acl=u:www-data:rX attrs=i\nRM /y\n",
	"EDIT /etc/hosts block=one content=\"10.0.0.1 a\\n\"\nEDIT /e line=\"#x\" match=^x\nEDIT /e key=a value=\"\" separator=\" = \"\nEDIT /e match=x ensure=absent",
	"USER deploy uid=0100 home=/home/deploy shell=/bin/sh\nGROUP g gid=7\nMEMBER deploy g\nPKG nginx:amd64 version=1.2~3 held=true\n",
	"UNIT nginx.service active=true enabled=false\nSYSCTL net.ipv4.ip_forward value=1\n",
	"EXEC db \"a=b\" \"\" \"#c\" \"\\x80\" env=A=1 env=B= timeout=90s undo=\"rm -rf 'a b'\"\n",
	"ACT reload nginx.service on=file:/etc/nginx/nginx.conf\nACT run x a b on=exec:db timeout=300s\n",
	"CHECK c http=http://127.0.0.1/ status=200 within=0.5s\nINCLUDE generated/users.steps\n",
	"WAIT db tcp=db1:5432 timeout=10m\n",
	"MKDIR /caf\u00e9 \"\\u202e\"\n#@ x\n#\n\x00\n\xff\n\x1b[31m\nMKDIR \"/a\n",
}

// TestSeeds: the fuzzer begins with every verb.
func TestSeeds(t *testing.T) {
	text := " " + strings.Join(strings.Fields(strings.Join(seeds, "\n")), " ")
	for _, schema := range step.Schemas() {
		if !strings.Contains(text, " "+string(schema.Verb)+" ") {
			t.Errorf("no seed has the verb %s", schema.Verb)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		list, diags := step.Parse("fuzz.steps", src)
		for _, d := range diags {
			if d.Summary == "" || d.Detail == "" || d.Range.File != "fuzz.steps" || !utf8.ValidString(d.Line) {
				t.Fatalf("incomplete diagnostic %#v", d)
			}
			if d.Range.Start.Byte > d.Range.End.Byte || d.Range.End.Byte > len(src) {
				t.Fatalf("range %v of %d bytes", d.Range, len(src))
			}
		}
		checkRoundTrip(t, list)
		for _, d := range step.Lint(list, step.DebianBase{}) {
			if d.Range.Start.Byte > d.Range.End.Byte || d.Range.End.Byte > len(src) || !utf8.ValidString(d.Line) {
				t.Fatalf("misplaced diagnostic %#v", d)
			}
		}
		if d := step.Diff(list, list); len(d) > 0 {
			t.Fatalf("a list differs from itself:\n%s", step.FormatDiff(d))
		}
		for _, line := range step.Reverse(list) {
			if strings.Contains(line, "\n") {
				t.Fatalf("the inverse %q is more than a line", line)
			}
		}
	})
}

// checkRoundTrip prints a list and reads it back, and does so again.
func checkRoundTrip(t *testing.T, list step.List) {
	t.Helper()
	var b strings.Builder
	if err := step.Print(&b, list, step.PrintOptions{Source: true}); err != nil {
		t.Fatal(err)
	}
	again, diags := step.Parse("fuzz.steps", []byte(b.String()))
	if len(diags) > 0 || len(again) != len(list) {
		t.Fatalf("cannot read back what was printed:\n%s%v", b.String(), diags.Err())
	}
	for i := range list {
		x, y := list[i], again[i]
		if x.Verb != y.Verb || !slices.Equal(x.Args, y.Args) || !slices.Equal(x.Attrs, y.Attrs) || x.Source != y.Source {
			t.Fatalf("step changed on its way through text:\n%#v\n%#v", x, y)
		}
		if y.Written != x.String() || y.String() != x.String() {
			t.Fatalf("canonical form is not stable: %q, %q, %q", x.String(), y.Written, y.String())
		}
	}
	if list.String() != again.String() || list.Digest() != again.Digest() {
		t.Fatalf("the list's text is not stable:\n%s", list)
	}
}

func FuzzWords(f *testing.F) {
	for _, s := range []string{"", "nginx -t", `a "b c" 'd e' f\ g`, `"\$x" '\' \\`, "'", `"`, `\`, "a\x00\xff\n\tb",
		`''""`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		words, err := step.SplitWords(s)
		if err != nil {
			return
		}
		again, err := step.SplitWords(step.JoinWords(words))
		if err != nil || !slices.Equal(words, again) {
			t.Fatalf("%q: %q became %q (%v)", s, words, again, err)
		}
		// For all words, also for words that s cannot produce.
		raw := strings.Split(s, "e")
		if again, err := step.SplitWords(step.JoinWords(raw)); err != nil || !reflect.DeepEqual(raw, again) {
			t.Fatalf("%q became %q (%v)", raw, again, err)
		}
	})
}
