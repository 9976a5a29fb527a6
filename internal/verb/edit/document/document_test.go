package document

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/test/campaign"
)

type tester interface {
	Helper()
	Errorf(string, ...any)
}

// lawful sets or removes a value, and reverts the change. A refused change has no effect. A
// successful change is idempotent, can be found, and is reverted byte for byte.
func lawful(t tester, format, text, key, value string, absent bool) (after string, err error) {
	t.Helper()
	d, _ := For(format)
	parts, err := step.SplitKey(key)
	if err != nil {
		return "", err
	}
	to := image.Region{}
	if !absent {
		to.Present = true
		if to.Text, err = d.Canonical(value); err != nil {
			return "", err
		}
	}
	found, err := d.Find(text, parts, absent)
	if err != nil {
		return "", err
	}
	if found.Present == to.Present && found.Text == to.Text {
		if same, err := d.Put(text, parts, absent, to); err != nil || same != text {
			t.Errorf("%s %s is %s already in %q, and setting it gives %q, %v", format, key, value, text, same, err)
		}
		return text, nil
	}
	if after, err = d.Put(text, parts, absent, to); err != nil {
		return "", err
	}
	now, err := d.Find(after, parts, absent)
	if err != nil || now.Present != to.Present || now.Text != to.Text {
		t.Errorf("%s %s = %s in %q gives %q, where it is %+v, %v", format, key, value, text, after, now, err)
	}
	if again, err := d.Put(after, parts, absent, to); err != nil || again != after {
		t.Errorf("%s %s = %s gives %q, and once more %q, %v", format, key, value, after, again, err)
	}
	back, err := d.Put(after, parts, absent, found)
	if err != nil || back != text {
		t.Errorf("%s %s = %s in\n%q gives\n%q and back\n%q, %v", format, key, value, text, after, back, err)
	}
	return after, nil
}

func TestDocuments(t *testing.T) {
	for _, c := range []struct{ name, format, key, value, text, want string }{
		{"json value replaced", "json", "a", "2", "{\n  \"a\": 1,\n  \"b\": [1, 2]\n}\n", "{\n  \"a\": 2,\n  \"b\": [1, 2]\n}\n"},
		{"json key added", "json", "c", `"x"`, "{\n    \"a\": 1\n}\n", "{\n    \"a\": 1,\n    \"c\": \"x\"\n}\n"},
		{"json key added on one line", "json", "c", `true`, `{"a": 1, "b": 2}`, `{"a": 1, "b": 2, "c": true}`},
		{"json key added without blanks", "json", "c.d", `true`, `{"a":1}`, `{"a":1,"c":{"d":true}}`},
		{"json mappings made", "json", "log-opts.max-size", `"10m"`, "{\n  \"a\": 1\n}", "{\n  \"a\": 1,\n  \"log-opts\": {\n    \"max-size\": \"10m\"\n  }\n}"},
		{"json in an empty mapping", "json", "a", "1", "{}\n", "{\n  \"a\": 1\n}\n"},
		{"json in an empty file", "json", "a.b", "1", "", "{\n  \"a\": {\n    \"b\": 1\n  }\n}\n"},
		{"json in a list", "json", "a[1].b", "2", `{"a": [{}, {"b": 1}]}`, `{"a": [{}, {"b": 2}]}`},
		{"json comments stay", "json", "b", "3", "// c\n{\n  /* d */ \"a\": 1, // e\n  \"b\": 2 // f\n}\n", "// c\n{\n  /* d */ \"a\": 1, // e\n  \"b\": 3 // f\n}\n"},
		{"json same value in other words", "json", "a", "100", `{"a": 1e2}`, `{"a": 1e2}`},
		{"json list", "json", "hosts", `["unix:///x"]`, `{"debug": true}`, `{"debug": true, "hosts": ["unix:///x"]}`},
		{"json taken away", "json", "a", "-", "{\n  \"a\": 1,\n  \"b\": 2\n}\n", "{\n  \"b\": 2\n}\n"},
		{"json last taken away", "json", "b", "-", "{\n  \"a\": 1,\n  \"b\": 2\n}\n", "{\n  \"a\": 1\n}\n"},
		{"json only one taken away", "json", "a", "-", "{ \"a\": 1 }", "{ }"},

		{"yaml value replaced", "yaml", "a.b", `"x y"`, "# c\na:\n  b: 1 # d\n  c: 2\n", "# c\na:\n  b: x y # d\n  c: 2\n"},
		{"yaml key added", "yaml", "a.d", `"yes"`, "a:\n    b: 1\nz: 1\n", "a:\n    b: 1\n    d: \"yes\"\nz: 1\n"},
		{"yaml key behind a comment", "yaml", "a.d", `1`, "a:\n  b: 1 # x\n# y\nz: 1\n", "a:\n  b: 1 # x\n  d: 1\n# y\nz: 1\n"},
		{"yaml mappings made", "yaml", "a.b.c", `[1]`, "z: 1\n", "z: 1\na:\n  b:\n    c: [1]\n"},
		{"yaml below a key without a value", "yaml", "a.b", `1`, "a:\nz: 1\n", "a:\n  b: 1\nz: 1\n"},
		{"yaml null gets a value", "yaml", "a", `1`, "a: # c\nz: 1\n", "a: 1 # c\nz: 1\n"},
		{"yaml in an empty file", "yaml", "a.b", `"x: y"`, "", "a:\n  b: \"x: y\"\n"},
		{"yaml in comments", "yaml", "a", `true`, "# none\n", "# none\na: true\n"},
		{"yaml in brackets", "yaml", "a.c", `"d"`, "a: {b: 1}\n", "a: {b: 1, c: d}\n"},
		{"yaml in empty brackets", "yaml", "a.c", `"d"`, "a: {}\n", "a: {c: d}\n"},
		{"yaml list replaced", "yaml", "a", `["x"]`, "a:\n  - 1\n  - 2\nz: 1\n", "a: [\"x\"]\nz: 1\n"},
		{"yaml in a list", "yaml", "a[1].b", `2`, "a:\n  - b: 1\n  - b: 1\n    c: 1\n", "a:\n  - b: 1\n  - b: 2\n    c: 1\n"},
		{"yaml block text replaced", "yaml", "a", `"x"`, "a: |\n  one\n\n  two\nb: 1\n", "a: x\nb: 1\n"},
		{"yaml behind a block text", "yaml", "b", `"x"`, "a: |\n  one\n  two\n", "a: |\n  one\n  two\nb: x\n"},
		{"yaml quoted keys", "yaml", `"a b"."c:d"`, `1`, "'a b':\n  \"c:d\": 2\n", "'a b':\n  \"c:d\": 1\n"},
		{"yaml without a last line break", "yaml", "b", `1`, "a: 1", "a: 1\nb: 1"},
		{"yaml taken away", "yaml", "a.b", "-", "a:\n  b: 1 # c\n  d: 2\n", "a:\n  d: 2\n"},
		{"yaml tree taken away", "yaml", "a", "-", "x: 1\na:\n  b: 1\n  d: 2\nz: 1\n", "x: 1\nz: 1\n"},
		{"yaml only one taken away", "yaml", "a.b", "-", "a:\n  b: 1\nz: 1\n", "a: {}\nz: 1\n"},
		{"yaml taken away behind a comment", "yaml", "b", "-", "a: 1 # x\nb: 2 # y\nc: 3\n", "a: 1 # x\nc: 3\n"},
		{"yaml taken away before a comment", "yaml", "c.e", "-", "c:\n  e: 1\n  # c\n  a: 1\n", "c:\n  # c\n  a: 1\n"},
		{"yaml below a key at the end", "yaml", "a.b", "1", "# c\na:", "# c\na:\n  b: 1"},
		{"yaml unlike words", "yaml", "mode", `"0644"`, "mode: 0644\n", "mode: \"0644\"\n"},
		{"yaml multibyte", "yaml", "b", `2`, "é: \"ü\" # ö\n\"ß\": {é: 1}\nb: 1\n", "é: \"ü\" # ö\n\"ß\": {é: 1}\nb: 2\n"},

		{"toml value replaced", "toml", "server.port", "81", "# c\n[server]\nport = 80 # d\n", "# c\n[server]\nport = 81 # d\n"},
		{"toml key added", "toml", "server.host", `"a"`, "[server]\nport = 80\n\n[other]\nx = 1\n", "[server]\nport = 80\nhost = \"a\"\n\n[other]\nx = 1\n"},
		{"toml table made", "toml", "a.b.c", `"d"`, "x = 1\n", "x = 1\n\n[a.b]\nc = \"d\"\n"},
		{"toml root key", "toml", "y", `1.5`, "x = 1\n\n[t]\na = 1\n", "x = 1\ny = 1.5\n\n[t]\na = 1\n"},
		{"toml root key before tables", "toml", "y", `1`, "# top\n\n# of t\n[t]\na = 1\n", "# top\n\ny = 1\n# of t\n[t]\na = 1\n"},
		{"toml dotted key", "toml", "a.b.d", `1`, "a.b.c = 1\nz = 1\n", "a.b.c = 1\na.b.d = 1\nz = 1\n"},
		{"toml inline table", "toml", "a.c", `[1, "x"]`, "a = { b = 1 }\n", "a = { b = 1, c = [1, \"x\"] }\n"},
		{"toml empty inline table", "toml", "a.c", `{"x": 1}`, "a = {}\n", "a = { c = { x = 1 } }\n"},
		{"toml in an empty file", "toml", "a.b", `1`, "", "[a]\nb = 1\n"},
		{"toml entry of tables", "toml", "a[1].b", `2`, "[[a]]\nb = 1\n[[a]]\nb = 1\n", "[[a]]\nb = 1\n[[a]]\nb = 2\n"},
		{"toml many kinds of values", "toml", "z", `2`, "a = '''x\n[y]\n'''\nb = [ 1, # c\n  2,\n]\nd = 1979-05-27T07:32:00Z\ne = \"\"\"\\\n  x\"\"\"\nf = +1_000\ng = \"\\U0001F600\"\nz = 1\n", "a = '''x\n[y]\n'''\nb = [ 1, # c\n  2,\n]\nd = 1979-05-27T07:32:00Z\ne = \"\"\"\\\n  x\"\"\"\nf = +1_000\ng = \"\\U0001F600\"\nz = 2\n"},
		{"toml taken away", "toml", "a.b", "-", "[a]\nb = 1 # c\nd = 2\n", "[a]\nd = 2\n"},
		{"toml dotted taken away", "toml", "a.b", "-", "a.b = 1\nd = 2\n", "d = 2\n"},

		{"ini value replaced", "ini", "mysqld.port", "1", "; c\n[mysqld]\n# d\nport = 3306\nskip-name-resolve\n", "; c\n[mysqld]\n# d\nport = 1\nskip-name-resolve\n"},
		{"ini key added", "ini", "a.c", "x y", "[a]\nb=1\n\n[z]\ny=1\n", "[a]\nb=1\nc=x y\n\n[z]\ny=1\n"},
		{"ini section made", "ini", "a.c", "x", "[z]\n  y : 1\n", "[z]\n  y : 1\n\n[a]\nc : x\n"},
		{"ini key without a section", "ini", "c", "x", "b=1\n[z]\n", "b=1\nc=x\n[z]\n"},
		{"ini in an empty section", "ini", "z.c", "x", "[z]\n[y]\n", "[z]\nc=x\n[y]\n"},
		{"ini section of git", "ini", `"remote \"origin\"".url`, "x", "[remote \"origin\"]\n\turl = y\n", "[remote \"origin\"]\n\turl = x\n"},
		{"ini value of many lines", "ini", "Service.ExecStart", "/bin/x", "[Service]\nExecStart=/bin/a \\\n  b\nUser=c\n", "[Service]\nExecStart=/bin/x\nUser=c\n"},
		{"ini empty value", "ini", "a.b", "", "[a]\nb = 1\n", "[a]\nb = \n"},
		{"ini taken away", "ini", "a.b", "-", "[a]\nb = 1\nc = 2\n", "[a]\nc = 2\n"},
		{"ini section taken away", "ini", "a", "-", "[a]\nb = 1\n\n[c]\nd = 1\n", "[c]\nd = 1\n"},

		{"xml text replaced", "xml", "a.b", "x < y", "<?xml version=\"1.0\"?>\n<a>\n  <!-- c -->\n  <b>1</b>\n</a>\n", "<?xml version=\"1.0\"?>\n<a>\n  <!-- c -->\n  <b>x &lt; y</b>\n</a>\n"},
		{"xml attribute replaced", "xml", "a.b.@c", "2", "<a><b d='c=1' c = '1'/></a>", "<a><b d='c=1' c = '2'/></a>"},
		{"xml attribute added", "xml", "a.b.@c", "2", "<a><b /></a>", "<a><b c=\"2\" /></a>"},
		{"xml element added", "xml", "a.c", "2", "<a>\n    <b>1</b>\n</a>\n", "<a>\n    <b>1</b>\n    <c>2</c>\n</a>\n"},
		{"xml elements made", "xml", "a.c.d.@e", "2", "<a>\n  <b/>\n</a>", "<a>\n  <b/>\n  <c>\n    <d e=\"2\"/>\n  </c>\n</a>"},
		{"xml in an empty element", "xml", "a.c", "2", "<a/>", "<a>\n  <c>2</c>\n</a>"},
		{"xml empty element gets a text", "xml", "a.c", "2", "<a><c x=\"1\"/></a>", "<a><c x=\"1\">2</c></a>"},
		{"xml one of many", "xml", "a.b[1].@c", "2", "<a><b c=\"1\"/><b c=\"1\"/></a>", "<a><b c=\"1\"/><b c=\"2\"/></a>"},
		{"xml in an empty file", "xml", "a.b", "1", "", "<a>\n  <b>1</b>\n</a>\n"},
		{"xml taken away", "xml", "a.b", "-", "<a>\n  <b>1</b>\n  <c/>\n</a>\n", "<a>\n  <c/>\n</a>\n"},
		{"xml attribute taken away", "xml", "a.@b", "-", "<a b=\"1\" c=\"2\"/>", "<a c=\"2\"/>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			absent := c.value == "-"
			got, err := lawful(t, c.format, c.text, c.key, c.value, absent)
			if err != nil || got != c.want {
				t.Errorf("%s = %s in\n%s\ngives\n%s\n%v, want\n%s", c.key, c.value, c.text, got, err, c.want)
			}
		})
	}
}

// Texts that cannot be read, or are ambiguous, are refused with a reason.
func TestRefused(t *testing.T) {
	for _, c := range []struct{ format, key, value, text, want string }{
		{"json", "a", "1", "{\"a\": 1,}", "key in double quotes"},
		{"json", "a", "1", "{\"a\": nope}", `"nope" is not a value`},
		{"json", "a", "1", "{\"a\": 1, \"a\": 2}", "more than once"},
		{"json", "a.b", "1", "{\"a\": 1}", "a is a plain value and not a mapping"},
		{"json", "a[3]", "1", "{\"a\": [1]}", "has 1 entries"},
		{"json", "a", "x", "{}", "not JSON"},
		{"json", "a", "1", strings.Repeat("[", 100000), "too deep"},
		{"json", "a", "1", "[1]", "the whole file is a list"},
		{"yaml", "a", "1", "a: [1\nb: 2\n", "not valid YAML"},
		{"yaml", "a", "1", "a: 1\n---\na: 2\n", "more than one document"},
		{"yaml", "a", "1", "a: &x 2\nb: *x\n", "would affect another part"},
		{"yaml", "a.b", "1", "a: 1\n", "plain value"},
		{"yaml", "a", "1", "a: 1\r\x85b: 2", "YAML"},
		{"toml", "a", "1", "a = nope\n", "is not a value"},
		{"toml", "a", "1", "a = 1\na = 2\n", "twice"},
		{"toml", "a", "1", "[a]\n[a]\n", "twice"},
		{"toml", "a", "null", "", "null"},
		{"toml", "a.b", "1", "a = 1\n", "plain value"},
		{"ini", "a.b", "1", "[a]\nb=1\nb=2\n", "more than once"},
		{"ini", "a.b.c", "1", "", "SECTION.KEY"},
		{"ini", "a", "1", "[a]\na = 1\n", "name a key in it"},
		{"toml", "a", "1", "[a]\nb = 1\n", "name a key in it"},
		{"toml", "a", "1", "[[a]]\nb = 1\n", "name a key in it"},
		{"toml", "a", "1", "a.b = 1\n", "name a key in it"},
		{"ini", "a.b", "x\ny", "", "line break"},
		{"xml", "a.b", "1", "<a>", "XML"},
		{"xml", "b", "1", "<a/>", "root element is a"},
		{"xml", "a.b", "1", "<a><b/><b/></a>", "more than once"},
		{"xml", "a", "1", "<a><b/></a>", "contains other elements"},
		{"xml", "a.b", "1", "<a>text</a>", "contains text"},
	} {
		after, err := lawful(t, c.format, c.text, c.key, c.value, false)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s = %s in %.40q: %q, %v, want %q", c.format, c.key, c.value, c.text, after, err, c.want)
		}
	}
}

// A change that affects more than its value, or breaks the file, is never accepted.
func TestSpoils(t *testing.T) {
	d, _ := For("json")
	key, _ := step.SplitKey("a.b")
	root, err := d.read(`{"a": {"b": 1, "c": 2}, "d": 3}`)
	if err != nil {
		t.Fatal(err)
	}
	for after, ok := range map[string]bool{
		`{"a": {"b": 5, "c": 2}, "d": 3}`:         true,
		`{"a": {"c": 2, "b": 5}, "d": 3}`:         true,
		`{"a": {"b": 5, "c": 3}, "d": 3}`:         false,
		`{"a": {"b": 5}, "d": 3}`:                 false,
		`{"a": {"b": 5, "c": 2}}`:                 false,
		`{"a": {"b": 6, "c": 2}, "d": 3}`:         false,
		`{"a": {"b": 5, "c": 2}, "d": 3, "e": 4}`: false,
		`{"a": {"b": 5, "c": 2}, "d": 3`:          false,
	} {
		if _, err := d.checked(root, after, key, "5"); (err == nil) != ok {
			t.Errorf("%s: %v", after, err)
		}
	}
	if _, err := d.checkedWithout(root, `{"a": {"c": 2}, "d": 4}`, key); err == nil {
		t.Error("another value goes along")
	}
	if _, err := d.checkedWithout(root, `{"a": {"c": 2}, "d": 3}`, key); err != nil {
		t.Error(err)
	}
}

// draw makes a text of a format, with odd blanks and comments, and a key that it
// may hold.
func draw(t *rapid.T, format string) (text, key, value string) {
	pick := func(label string, of ...string) string { return rapid.SampledFrom(of).Draw(t, label) }
	name := func() string { return pick("name", "a", "b", "c", "d-e", "x y", "é") }
	for i := range rapid.IntRange(1, 3).Draw(t, "parts") {
		if i > 0 {
			key += "."
		}
		key += step.JoinKey([]step.KeyPart{{Name: name(), Entry: -1}})
	}
	value = pick("value", `1`, `"x"`, `true`, `"a: b"`, `[1,"y"]`, `{"k":"v"}`, `{}`, `""`, `-2.5`, `"é\n"`)
	end := pick("end", "", "\n", "\n\n", "\n# end\n")
	var tree func(depth int) string
	used := func() func() string {
		var seen []string
		return func() string {
			n := name()
			for slices.Contains(seen, n) {
				n += "1"
			}
			seen = append(seen, n)
			return n
		}
	}
	switch format {
	case "json":
		tree = func(depth int) string {
			if depth > 2 || pick("leaf", "y", "n") == "y" {
				return pick("scalar", "1", `"x"`, "null", "[1, {}]", "{}", "{ }", "[]")
			}
			nl := pick("sep", "", " ", "\n  ", "\n\t")
			fresh := used()
			var items []string
			for range rapid.IntRange(1, 3).Draw(t, "items") {
				items = append(items, nl+fmt.Sprintf("%q", fresh())+pick("colon", ":", ": ", " : ")+tree(depth+1))
			}
			return "{" + strings.Join(items, ",") + pick("close", "", " ", "\n") + "}"
		}
		text = tree(0) + strings.ReplaceAll(end, "#", "//")
	case "yaml":
		tree = func(depth int) string {
			ind := "\n" + strings.Repeat("  ", depth)
			if depth > 2 || depth > 0 && pick("leaf", "y", "n") == "y" {
				return pick("scalar", " 1", " x y", " 'q'", " \"q\"", "", " {a: 1}", " {}", " [1, 2]", " |"+ind+"  t"+ind+"  u", " ~", ind+"- 1"+ind+"- a: 1"+ind+"  b: 2")
			}
			fresh := used()
			out := ""
			for range rapid.IntRange(1, 3).Draw(t, "items") {
				out += pick("before", "", ind+"# c", "\n") + ind + yamlKey(fresh()) + ":" + tree(depth+1)
				if !strings.HasSuffix(out, "t") && !strings.Contains(out[strings.LastIndex(out, ":"):], "\n") {
					out += pick("behind", "", " # c", " ")
				}
			}
			return out
		}
		text = strings.TrimPrefix(tree(0), "\n") + end
	case "toml", "ini":
		fresh := used()
		line := func(n string) string {
			if format == "toml" {
				return pick("indent", "", "  ") + tomlKey(n) + pick("eq", " = ", "=") + pick("v", "1", `"x"`, "[1,\n 2]", "{ a = 1 }", "{}", "2.5") + pick("c", "", " # c") + "\n"
			}
			return pick("indent", "", "  ") + n + pick("eq", " = ", "=", ": ") + pick("v", "1", "x y", "", "a\\\n  b") + "\n"
		}
		for range rapid.IntRange(0, 2).Draw(t, "top") {
			text += pick("c", "", "# c\n", "\n") + line(fresh())
		}
		for range rapid.IntRange(0, 2).Draw(t, "tables") {
			n := fresh()
			if format == "toml" {
				n = tomlKey(n) + pick("sub", "", ".a", ".b")
			}
			text += pick("c", "", "# c\n", "\n") + "[" + n + "]\n"
			inner := used()
			for range rapid.IntRange(0, 2).Draw(t, "lines") {
				text += line(inner())
			}
		}
		text = strings.TrimSuffix(text, "\n") + end
	case "xml":
		key = "r." + strings.NewReplacer(`"x y"`, "xy", `"é"`, "@e").Replace(key)
		if i := strings.IndexByte(key, '@'); i >= 0 {
			key = key[:i+2]
		}
		tree = func(depth int) string {
			n := pick("name", "a", "b", "c", "d-e", "xy")
			if depth == 0 {
				n = "r"
			}
			attr := pick("attr", "", ` e="1"`, ` x='e="2"' e = "1" `)
			if depth > 2 || pick("leaf", "y", "n") == "y" {
				return "<" + n + attr + pick("leaf", "/>", " />", "></"+n+">", ">t &amp; u</"+n+">", ">\n</"+n+">")
			}
			out := "<" + n + attr + ">"
			sep := pick("sep", "", "\n  ", " ")
			for range rapid.IntRange(1, 3).Draw(t, "items") {
				out += sep + pick("c", "", "<!-- c -->") + tree(depth+1)
			}
			return out + pick("close", "", "\n") + "</" + n + ">"
		}
		text = pick("head", "", "<?xml version=\"1.0\"?>\n", "<!-- h -->\n") + tree(0) + strings.TrimRight(end, "# end\n")
	}
	return text, key, value
}

func TestLaws(t *testing.T) {
	for _, format := range Formats() {
		t.Run(format, func(t *testing.T) {
			tried, done, rounds := 0, 0, 1
			if os.Getenv("FETTLE_LONG") != "" {
				rounds = 300
			}
			for range rounds {
				rapid.Check(t, func(t *rapid.T) {
					text, key, value := draw(t, format)
					if rapid.IntRange(0, 9).Draw(t, "none") == 0 {
						text = ""
					}
					absent := rapid.IntRange(0, 3).Draw(t, "absent") == 0
					tried++
					if _, err := lawful(t, format, text, key, value, absent); err == nil {
						done++
					}
				})
			}
			if done*3 < tried {
				t.Errorf("only %d of %d changes were made", done, tried)
			}
			lost := 0
			if t.Failed() {
				lost = 1
			}
			campaign.Record(t, campaign.Campaign{Name: "Values of documents", Variant: format, Points: tried, Hit: done, Lost: lost,
				Detail: "a random value is set in or removed from a document; done once, found again, no other change, undone byte for byte (in the run: done; the rest was refused)"})
		})
	}
}

// FuzzDocument: for all files, nothing panics and the laws hold.
func FuzzDocument(f *testing.F) {
	for i, format := range Formats() {
		for _, text := range []string{"", "{\"a\": {\"b\": 1}}", "a:\n  b: 1\n", "[a]\nb = 1\n", "<a><b>1</b></a>", "a = { b = \"\"\"x\"\"\" }"} {
			for _, absent := range []bool{true, false} {
				f.Add(uint8(i), text, "a.b", `"x"`, absent)
			}
		}
		_ = format
	}
	f.Fuzz(func(t *testing.T, which uint8, text, key, value string, absent bool) {
		if len(text) > 4096 {
			return
		}
		format := Formats()[int(which)%len(Formats())]
		if parts, err := step.SplitKey(key); err != nil || absent && parts[len(parts)-1].Entry >= 0 {
			return
		}
		_, _ = lawful(t, format, text, key, value, absent)
	})
}
