package child_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/compile/child"
	"fettle.dev/fettle/internal/repo"
)

// FuzzDecode: no input makes a decoder panic, and a decoded result survives encoding and decoding.
func FuzzDecode(f *testing.F) {
	tree := repo.MapTree(map[string]string{"fettle.hcl": "target \"a\" {}\nfile \"/srv/x\" { content = \"x\" }\npackage \"nginx\" {}\nfile \"/srv/y\" { source = \"y\" }", "y": "y"})
	res, ds := compile.Compile(compile.Input{Tree: tree})
	if ds.HasErrors() {
		f.Fatal(ds)
	}
	f.Add(child.EncodeResult(res))
	f.Add([]byte("\x01\x04file\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		child.Decode(b, tree)
		res, err := child.DecodeResult(b, tree)
		if err != nil {
			return
		}
		again, err := child.DecodeResult(child.EncodeResult(compile.Result{
			Target: res.Target, List: res.List, Policy: res.Policy, States: res.States, FactsUsed: res.FactsUsed,
			Files: res.Files,
			Blobs: res.Blobs,
		}), tree)
		if err != nil || again.List.String() != res.List.String() || len(again.States) != len(res.States) {
			t.Fatalf("said again it is %v %v, was %v", again, err, res)
		}
	})
}

// FuzzHolder: for every output of a child, the holder ends with a result or an error.
func FuzzHolder(f *testing.F) {
	tree := repo.MapTree(map[string]string{"fettle.hcl": "target \"a\" {}"})
	f.Add("E\x00\x00\x00\x01\x00")
	f.Add("R\x00\x00\x00\x0c\x00\x0afettle.hclE\x00\x00\x00\x02\x00\x00")
	f.Fuzz(func(_ *testing.T, said string) {
		if c, err := child.Connect(strings.NewReader(said), io.Discard, tree); err == nil {
			_, _, _ = ask(c, compile.ListQuery{})
			_ = c.Before(tree, nil)
			_, _, _ = c.Diff(compile.Input{}, []compile.Compared{{Target: "a", Has: [2]bool{true, true}}})
		}
		_ = child.Serve(bytes.NewReader([]byte(said)), io.Discard, nil)
	})
}
