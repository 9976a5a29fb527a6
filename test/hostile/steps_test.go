package hostile

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
	"unicode"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/test/campaign"
)

// goodLists hold every verb.
func goodLists() []string {
	out := []string{firstList, secondList,
		"USER deploy uid=100 home=/home/deploy shell=/bin/sh\nMEMBER deploy adm\nPKG nginx:amd64 version=1.2~3 held=true\nUNIT nginx.service active=true enabled=false\nSYSCTL net.ipv4.ip_forward value=1\n",
		"EXEC db \"a=b\" \"\" \"#c\" \"\\x80\" env=A=1 timeout=90s undo=\"rm -rf 'a b'\"\nACT reload nginx.service on=file:/etc/nginx/nginx.conf\nCHECK c http=http://127.0.0.1/ status=200 within=0.5s\nINCLUDE more.steps\n",
		"META /x acl=u:www-data:rX attrs=i\nEDIT /e line=\"#x\" match=^x\nEDIT /e key=a value=\"\" separator=\" = \"\nLINK \"a b\" /l\nCOPY sha256:" + strings.Repeat(
			"0", 64) + " /a mode=0644 validate=\"visudo -c '-f' %s\"\n",
	}
	_ = filepath.WalkDir(filepath.Join("..", "..", "examples"), func(p string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(p) == ".steps" {
			out = append(out, read(p))
		}
		return nil
	})
	return out
}

// giants are lists that ask for much with little, or are much.
func giants() []string {
	r := strings.Repeat
	return []string{
		r("x", 32<<20), r("\n", 1<<20) + "X", r("MKDIR /a\n", 100_000), r("COPY ", 1<<20), "MKDIR /" + r("a/", 1<<18),
		"MKDIR \"" + r("\\x00", 1<<18), "EXEC a " + r("b ", 1<<19) + " timeout=1e999999s",
		"CHECK c http=http://" + r("a", 1<<20) + " within=999999999999999h", r("\"", 1<<20), r("#", 16<<20) + "\nX",
		"EDIT /e match=" + r("(", 1<<18) + " line=x", "EDIT /e match=\"((((a{1,100}){1,100}){1,100}){1,100})\" line=x",
		"MKDIR /a mode=" + r("7", 1<<19),
		r("INCLUDE self.steps\n", 1000), "INCLUDE ../../etc/passwd\n", "INCLUDE /etc/passwd\n", "INCLUDE loop.steps\n",
		"COPY ../../etc/passwd /x\n", "COPY /etc/passwd /x\n", "COPY missing /x\n", "ACT reload x on=" + r("file:/x,", 1<<17),
		"\x7fELF\x02\x01", "PK\x03\x04", r("\x00", 1<<20), "\xef\xbb\xbfMKDIR", "M\x00K\x00D\x00I\x00R\x00",
		r("MKDIR /a owner=b group=c mode=0755 ", 1<<14),
	}
}

// TestSteps gives bad lists to the parser, the resolver and the lint. Each ends
// in a diagnostic with its place, in little memory.
func TestSteps(t *testing.T) {
	rng, good := rand.New(rand.NewPCG(12, 12)), goodLists()
	want, refused, lost, tried := pick(500, 15_000), 0, 0, 0
	judge := func(name, text string, must bool) {
		tried++
		ds, took := parse(text)
		if len(ds) > 0 {
			refused++
		} else if must {
			lost++
			t.Errorf("%s is taken: %.200q", name, text)
		}
		if took > 256<<20 {
			lost++
			t.Errorf("%s took %d MiB", name, took>>20)
		}
		for _, why := range stepFaults(text, ds) {
			lost++
			t.Errorf("%s: %s\n%.1000s", name, why, fmt.Sprint(ds))
		}
	}
	for i, text := range giants() {
		judge(fmt.Sprintf("giant %d", i), text, true)
	}
	for i := 0; refused < want && i < 20*want && lost < 20; i++ {
		judge(fmt.Sprintf("mutation %d", i), mutate(rng, good[i%len(good)], good), false)
	}
	campaign.Record(t, campaign.Campaign{Name: "Hostile lists", Points: tried, Hit: refused, Lost: lost,
		Detail: "parsed, resolved and linted in less than 256 MiB; a diagnostic with a position, or a list that is still valid (in the run: refused)"})
}

// parse takes a list as far as it goes without a machine, and measures what
// memory that took in all, in bytes.
func parse(text string) (ds diag.List, took uint64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	directory := fstest.MapFS{"a1": {Data: []byte("a")}, "self.steps": {Data: []byte("INCLUDE self.steps\n")},
		"loop.steps":  {Data: []byte("INCLUDE loop2.steps\n")},
		"loop2.steps": {Data: []byte("INCLUDE loop.steps\nINCLUDE loop.steps\n")}}
	list, ds := step.Parse("list", []byte(text))
	if !ds.HasErrors() {
		resolved, more := step.Resolve(list, step.Directory{FS: directory})
		ds = append(ds, more...)
		if !ds.HasErrors() {
			ds = append(ds, step.Lint(resolved, step.DebianBase{})...)
		}
	}
	runtime.ReadMemStats(&after)
	return ds, after.TotalAlloc - before.TotalAlloc
}

func stepFaults(text string, ds diag.List) (out []string) {
	for _, d := range ds {
		switch {
		case !strings.HasSuffix(d.Range.File, "list") && !strings.HasSuffix(d.Range.File, ".steps"):
			out = append(out, fmt.Sprintf("no list is named: %q", d.Range.File))
		case d.Range.Start.Line == 0:
			out = append(out, "no line is named")
		case d.Summary == "" || d.Detail == "":
			out = append(out, "it does not say what to do")
		case strings.ContainsFunc(d.Summary+d.Detail, func(r rune) bool { return unicode.IsControl(r) && r != '\n' }):
			out = append(out, "it holds what a terminal acts upon")
		case len(d.Detail) > 16<<10:
			out = append(out, fmt.Sprintf("its text has %d bytes", len(d.Detail)))
		}
	}
	return out
}
