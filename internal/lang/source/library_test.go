package source_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"fettle.dev/fettle/internal/lang/eval"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/repo"
)

// TestLibraryIsReadWhenUsed: the kinds of the library are known all together,
// and a file of it is parsed for the kinds that are used alone.
func TestLibraryIsReadWhenUsed(t *testing.T) {
	library := fstest.MapFS{
		"a.hcl": {Data: []byte("define \"one\" {\n  description = \"One.\"\n}\ndefine \"two\" {}\n")},
		"b.hcl": {Data: []byte("define \"broken\" {\n")},
		"c.hcl": {Data: []byte("define \"with\" {}\nfile \"/etc/motd\" {}\n")},
	}
	for _, c := range []struct {
		text, says string
		parsed     string
	}{
		{"", "", ""},
		{"one \"x\" {}\n", "", "a.hcl"},
		{"broken \"x\" {}\n", "stdlib/b.hcl", "b.hcl"},
		{"with \"x\" {}\n", "The standard library can contain only define blocks", "c.hcl"},
		{"define \"two\" {}\n", "is a built-in kind", ""},
		{"tow \"x\" {}\n", "Did you mean \"two\"?", ""},
	} {
		p, ds := source.Load(repo.MapTree(map[string]string{"fettle.hcl": "locals {}\n" + c.text}),
			source.Options{Stdlib: library})
		if !ds.HasErrors() {
			_, ds = eval.Catalog(p, eval.Input{})
		}
		if err := ds.Err(); (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %v, want %q", c.text, err, c.says)
		}
		if got := strings.Join(p.ParsedLibrary(), " "); got != c.parsed {
			t.Errorf("%q: parsed %q, want %q", c.text, got, c.parsed)
		}
	}
	library["d.hcl"] = &fstest.MapFile{Data: []byte("define \"one\" {}\n")}
	if _, ds := source.Load(repo.MapTree(map[string]string{"fettle.hcl": ""}),
		source.Options{Stdlib: library}); ds.Err() == nil ||
		!strings.Contains(ds.Err().Error(), "is already defined in a.hcl") {
		t.Errorf("a kind twice: %v", ds.Err())
	}
}
