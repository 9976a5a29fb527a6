package edit

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
)

func parse(t interface {
	Helper()
	Fatalf(string, ...any)
}, line string) step.Step {
	t.Helper()
	l, ds := step.Parse("list", []byte(line+"\n"))
	if err := ds.Err(); err != nil || len(l) != 1 {
		t.Fatalf("%s: %v", line, err)
	}
	return l[0]
}

// changed does a step and gives what it found, for the way back.
func changed(text string, s step.Step) (after string, found image.Region) {
	found = find(text, s)
	return put(text, s, wanted(s, found)), found
}

// lawful does a step twice and takes it back: the second time changes nothing,
// and back is byte for byte what was there.
func lawful(t interface {
	Helper()
	Errorf(string, ...any)
}, text string, s step.Step) string {
	t.Helper()
	after, found := changed(text, s)
	now := find(after, s)
	if to := wanted(s, now); !image.Of(&now).Same(image.Of(&to)) {
		t.Errorf("%s\non %q gives %q, which is not in sync: %+v, want %+v", s, text, after, now, to)
	}
	if again, _ := changed(after, s); again != after {
		t.Errorf("%s\non %q gives %q, and then %q", s, text, after, again)
	}
	back := put(after, s, found)
	if back != text {
		t.Errorf("%s\non %q gives %q, and back %q", s, text, after, back)
	}
	if again := put(back, s, found); again != back {
		t.Errorf("%s\nback twice gives %q, and then %q", s, back, again)
	}
	return after
}

func TestRegions(t *testing.T) {
	for _, c := range []struct{ name, step, text, want string }{
		{"block in an empty file", `block=w content="a\n"`, "", "# BEGIN fettle w\na\n# END fettle w\n"},
		{"block behind a last line without newline", `block=w content=a`, "x", "x\n# BEGIN fettle w\na\n# END fettle w\n"},
		{"block replaced in its place", `block=w content="b\nc\n"`, "x\n# BEGIN fettle w\na\n# END fettle w\ny\n",
			"x\n# BEGIN fettle w\nb\nc\n# END fettle w\ny\n"},
		{"block emptied", `block=w content=""`, "# BEGIN fettle w\na\n# END fettle w\n",
			"# BEGIN fettle w\n# END fettle w\n"},
		{"block of many comment styles", `block=w content=a comment=//`, "# BEGIN fettle w\nz\n# END fettle w\n",
			"# BEGIN fettle w\nz\n# END fettle w\n// BEGIN fettle w\na\n// END fettle w\n"},
		{"block without an end is not ours", `block=w content=a`, "# BEGIN fettle w\nz\n",
			"# BEGIN fettle w\nz\n# BEGIN fettle w\na\n# END fettle w\n"},
		{"block taken away at a cut end", `block=w ensure=absent`, "x\n# BEGIN fettle w\na\n# END fettle w", "x\n"},
		{"every copy of a block taken away", `block=w ensure=absent`,
			"# BEGIN fettle w\na\n# END fettle w\nx\n# BEGIN fettle w\nb\n# END fettle w\n", "x\n"},
		{"content with the markers of another block", `block=w content="# BEGIN fettle v\nq\n# END fettle v\n"`, "x\n",
			"x\n# BEGIN fettle w\n# BEGIN fettle v\nq\n# END fettle v\n# END fettle w\n"},
		{"content with lines that look like markers", `block=w content="# END fettle\n# END fettle w \n #BEGIN fettle w\n"`,
			"", "# BEGIN fettle w\n# END fettle\n# END fettle w \n #BEGIN fettle w\n# END fettle w\n"},
		{"line that is there", `line=a`, "a\nb", "a\nb"},
		{"line appended", `line=c`, "a\nb", "a\nb\nc\n"},
		{"line in an empty file", `line=c`, "", "c\n"},
		{"last match replaced", `line="p no" match="^#?p"`, "p yes\n#p yes\nq\n", "p yes\np no\nq\n"},
		{"last match without newline", `line="p no" match="^#?p"`, "x\np yes", "x\np no\n"},
		{"wanted line goes before a match", `line="p no" match="^p"`, "p no\np yes\n", "p no\np yes\n"},
		{"expression characters in a line", `line="a.*[b]($^|\\)+?{2}"`, "aXb\n", "aXb\na.*[b]($^|\\)+?{2}\n"},
		{"empty line", `line=""`, "a\n", "a\n\n"},
		{"every copy of a line taken away", `line=a ensure=absent`, "a\nb\na\nc\na", "b\nc\n"},
		{"every match taken away", `match="^a" ensure=absent`, "a1\nb\na2\n", "b\n"},
		{"line and match taken away", `line=x match="^a" ensure=absent`, "x\na\nb\nx\n", "b\n"},
		{"only line taken away", `line=a ensure=absent`, "a", ""},
		{"nothing to take away", `line=a ensure=absent`, "b", "b"},
		{"a line with CRLF is another line", `line=a`, "a\r\n", "a\r\na\n"},
		{"key added", `key=k value=1`, "", "k=1\n"},
		{"key set, blanks and all", `key=k value=2`, "  k =  1  \nx", "k=2\nx"},
		{"key in sync with other blanks", `key=k value=1`, "\tk\t=\t1 \n", "\tk\t=\t1 \n"},
		{"last of many keys set", `key=k value=3`, "k=1\nk=2\n", "k=1\nk=3\n"},
		{"every key taken away", `key=k ensure=absent`, "k=1\nx\n k = 2\n", "x\n"},
		{"key with expression characters", `key="a.b[*]" value="$1"`, "aXb=1\n", "aXb=1\na.b[*]=$1\n"},
		{"longer key is another key", `key=k value=1`, "kk=2\n", "kk=2\nk=1\n"},
		{"comment is no key", `key=k value=1`, "#k=2\n", "#k=2\nk=1\n"},
		{"key and value apart by a blank", `key=Port value=22 separator=" "`, "Ports 1\nPort\t23\n", "Ports 1\nPort 22\n"},
		{"value that is empty, apart by a blank", `key=k value="" separator=" "`, "", "k \n"},
		{"another separator", `key=k value=v separator=": "`, "k=1\nk:w\n", "k=1\nk: v\n"},
		{"value with blanks around", `key=k value=" v "`, "", "k= v \n"},
		{"CRLF file", `key=k value=1`, "a\r\nk=1\r\n", "a\r\nk=1\n"},
		{"bytes that are no text", `line="\xff\xfe"`, "\xff\n", "\xff\n\xff\xfe\n"},
		{"key that is no text", `key="\xff" value="\xfe"`, "\xff=1\n", "\xff=\xfe\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := lawful(t, c.text, parse(t, "EDIT /f "+c.step)); got != c.want {
				t.Errorf("%s\non %q gives %q, want %q", c.step, c.text, got, c.want)
			}
		})
	}
}

// A region that could not be found again is refused before it is written.
func TestRegionsThatCannotBeFoundAgain(t *testing.T) {
	for line, want := range map[string]string{
		`block=w content="a\n# END fettle w\nb\n"`:       "marks the beginning or end of the block",
		`block=w content="# BEGIN fettle w"`:             "marks the beginning or end of the block",
		`block=w comment=; content="; END fettle w\r\n"`: "",
		`block=w comment=; content="# END fettle w\n"`:   "",
		`key=k value=v separator=""`:                     `separator=" "`,
		`key=" " value=v`:                                "key is blank",
		`key=" " ensure=absent`:                          "",
	} {
		s := parse(t, "EDIT /f "+line)
		_, err := Edit{}.Target(s, image.Of(&image.Region{}), nil)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}

// draw makes a step about words that the texts of these tests are full of.
func draw(t *rapid.T) step.Step {
	word := rapid.SampledFrom([]string{"a", "b", "k", "k v", "k=v", "", " k = w ", "#k", "a.b", ".*", "é", "\xff", "x\t"})
	q := func(label string) string { return fmt.Sprintf("%q", word.Draw(t, label)) }
	name := rapid.SampledFrom([]string{"k", "a.b", "[x", "\xff"})
	gone := rapid.SampledFrom([]string{"", " ensure=absent"}).Draw(t, "ensure")
	match := rapid.SampledFrom([]string{"", " match=^k", ` match="a|b"`, ` match="=$"`}).Draw(t, "match")
	sep := rapid.SampledFrom([]string{"", ` separator=" "`, ` separator=": "`, ` separator="\t"`}).Draw(t, "separator")
	switch rapid.IntRange(0, 3).Draw(t, "region") {
	case 0:
		comment := rapid.SampledFrom([]string{"", " comment=//", ` comment=";"`}).Draw(t, "comment")
		lines := rapid.SliceOfN(word, 0, 3).Draw(t, "content")
		return parse(t, fmt.Sprintf("EDIT /f block=%s content=%q%s%s",
			rapid.SampledFrom([]string{"w", "v"}).Draw(t, "block"), strings.Join(lines, "\n"), comment, gone))
	case 1:
		return parse(t, fmt.Sprintf("EDIT /f key=%q value=%s%s%s", name.Draw(t, "key"), q("value"), sep, gone))
	case 2:
		if gone != "" && match != "" {
			return parse(t, "EDIT /f"+match+gone)
		}
	}
	return parse(t, "EDIT /f line="+q("line")+match+gone)
}

// drawText makes a file of lines that the steps are about, blocks of both names
// among them, whose last line may have no newline.
func drawText(t *rapid.T, blocks bool) string {
	line := []string{"a", "b", "k=v", "k = w", " k v", "k: v", "", "#k=v", "a.b=1", "[x: y", "\xff=z", "ab\r", "é",
		"# BEGIN fettle u"}
	if blocks {
		line = append(line, "# BEGIN fettle w\nx\n# END fettle w", "// BEGIN fettle v\n// END fettle v", "# END fettle w",
			"# BEGIN fettle w")
	}
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(line), 0, 6).Draw(t, "lines"),
		"\n") + rapid.SampledFrom([]string{"", "\n"}).Draw(t, "end")
}

func TestRegionLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := draw(t)
		lawful(t, drawText(t, s.Get("block") != ""), s)
	})
}

// For all files and steps, the laws hold and nothing panics.
func FuzzRegion(f *testing.F) {
	for _, text := range []string{"", "a", "a\r\nb", "k=1\nk = 2", "# BEGIN fettle w\na\n# END fettle w"} {
		f.Add(text, "k", "v", "=", uint8(0))
		f.Add(text, "w", "a\nb", "//", uint8(4))
		f.Add(text, "a", "", "", uint8(2))
		f.Add(text, "a", "^k", "", uint8(5))
	}
	f.Fuzz(func(t *testing.T, text, name, value, extra string, how uint8) {
		var line string
		switch how % 3 {
		case 0:
			line = fmt.Sprintf("EDIT /f key=%q value=%q separator=%q", name, value, extra)
		case 1:
			line = fmt.Sprintf("EDIT /f block=%q content=%q comment=%q", name, value, extra)
		case 2:
			line = fmt.Sprintf("EDIT /f line=%q match=%q", name, value)
		}
		if how&4 != 0 {
			line += " ensure=absent"
		}
		l, ds := step.Parse("list", []byte(line+"\n"))
		if ds.Err() != nil || len(l) != 1 || refuse(l[0]) != "" || strings.Contains(text, " BEGIN fettle ") && how%3 != 1 {
			return
		}
		lawful(t, text, l[0])
	})
}
