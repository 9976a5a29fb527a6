package eval_test

import (
	"bytes"
	"testing"

	"fettle.dev/fettle/internal/kind/kinds"
	"fettle.dev/fettle/internal/lang/eval"
	"fettle.dev/fettle/internal/lang/format"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/repo"
)

// FuzzCatalog demands that no text breaks the front end, that errors have a place or a reason, and
// that formatting settles at once.
func FuzzCatalog(f *testing.F) {
	for _, s := range []string{
		"", "vars = { a = 1 }", `file "/a" { content = "x" }`,
		`target "a" { modules = [] }`, `locals { a = local.b
b = local.a }
file "/x" { content = local.a }`,
		`define "k" { variable "a" {}
main = "a"
file "f" { path = var.a
content = "${var.a}" } }
k "/x" { notify = [k.y] }`,
		`block "b" { when = false
file "/a" { for_each = toset(["x"])
content = each.key
after = [file["/a"]["x"], block.b] } }`,
		`service "n" { listen = { reload = [file["/a"]] } }
file "/a" { content = templatefile("t", { a = [1] })
notify = [immediate(service.n.reload)] }`,
		`policy { rollout = "r" }
rollout "r" {
max_failed = "2%"
wave "a" {
targets = ["a*"]
size = 1
bake = "10m"
}
wave "b" {}
}`,
		`fact "os_id" { type = string }
file "/a" { content = fact.os_id }`,
	} {
		f.Add([]byte(s), []byte("${a} %{for x in a}${x}%{endfor}"))
	}
	f.Fuzz(func(t *testing.T, src, tmpl []byte) {
		tree := repo.MapTree(map[string]string{"fettle.hcl": string(src), "t": string(tmpl)})
		p, ds := source.Load(tree, source.Options{Kinds: kinds.All()})
		if !ds.HasErrors() {
			c, more := eval.Catalog(p, eval.Input{})
			if c == nil && !more.HasErrors() {
				t.Fatal("no catalog and no reason")
			}
			ds = append(ds, more...)
		}
		for _, d := range ds {
			if d.Summary == "" {
				t.Fatalf("diagnostic without a summary: %v", d)
			}
		}
		once, ds := format.Source(src, "x.hcl")
		if ds.HasErrors() {
			return
		}
		if twice, _ := format.Source(once, "x.hcl"); !bytes.Equal(once, twice) {
			t.Fatalf("formatting does not settle:\n%q\n%q", once, twice)
		}
	})
}
