package source_test

import (
	"strings"
	"testing"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind/kinds"
	"fettle.dev/fettle/internal/lang/eval"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/repo"
)

// looping evaluates a repository whose local.x is an expression over a list of the given size, with
// a limit for loops; 0 is the default limit.
func looping(t *testing.T, expr, many string, most int64) diag.List {
	t.Helper()
	text := "target \"a\" {}\nlocals {\n  n = " + many + "\n  x = " + expr + "\n}\n" +
		"file \"/etc/a\" { content = jsonencode(local.x) }\nfile \"/etc/b\" { content = jsonencode(local.x) }\n"
	p, ds := source.Load(repo.MapTree(map[string]string{"fettle.hcl": text, "t": threeLoops}),
		source.Options{Kinds: kinds.All()})
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	if most > 0 {
		p.LimitLoops(most)
	}
	_, ds = eval.Catalog(p, eval.Input{Target: "a"})
	return ds
}

const threeLoops = "%{ for a in n }%{ for b in n }%{ for c in n }%{ endfor }%{ endfor }%{ endfor }"

// TestLoops: loops inside of loops end by a count, in each form that a loop has, also where
// an error is caught, and are one error.
func TestLoops(t *testing.T) {
	for name, expr := range map[string]string{
		"a list":         `length([for a in local.n : [for b in local.n : [for c in local.n : 0]]])`,
		"an object":      `length({ for a in local.n : "x${a}" => { for b in local.n : "x${b}" => length([for c in local.n : 0]) } })`,
		"a condition":    `length([for a in local.n : a if length([for b in local.n : b if length([for c in local.n : 0]) < 0]) < 0])`,
		"a template":     `"` + strings.ReplaceAll(threeLoops, "in n", "in local.n") + `"`,
		"a splat":        `length([for a in local.n : [for b in local.n : length(local.n[*])]])`,
		"a caught error": `try(length([for a in local.n : [for b in local.n : [for c in local.n : 0]]]), 1)`,
		"caught inside":  `length([for a in local.n : [for b in local.n : try([for c in local.n : 0], 1)]])`,
		"literals": `length([for a in [` + strings.Repeat("1,",
			100) + `] : [for b in local.n : [for c in local.n : 0]]])`,
		"a file's template": `templatefile("t", { n = local.n })`,
	} {
		ds := looping(t, expr, "range(100)", 20_000)
		if len(ds) != 1 || ds[0].Summary != "Too many loops" || ds[0].Line == "" {
			t.Errorf("%s: %v", name, ds)
		}
	}
}

// TestLoopsAsWritten: large loops are below the default limit.
func TestLoopsAsWritten(t *testing.T) {
	for _, expr := range []string{`length([for a in local.n : [for b in range(100) : a]])`, `local.n[*]`,
		`[for a in local.n : try(a.x, a) if a > 998]`} {
		if ds := looping(t, expr, "range(1000)", 0); ds.HasErrors() {
			t.Errorf("%s: %v", expr, ds)
		}
	}
}

// TestLoopsOverUnknown: a loop over the result of a command that has not run yet has no
// elements to count, and its state waits for the result.
func TestLoopsOverUnknown(t *testing.T) {
	text := `target "a" {}
exec "c" {
  command = ["/bin/list"]
  output  = "stdout"
}
locals { names = jsondecode(exec.c.result) }
file "/etc/a" { content = "%{ for n in local.names }${n}\n%{ endfor }" }
file "/etc/b" { content = join(" ", [for n in split(",", exec.c.result) : n]) }
file "/etc/c" { content = join(" ", split(",", exec.c.result)[*]) }
`
	p, ds := source.Load(repo.MapTree(map[string]string{"fettle.hcl": text}), source.Options{Kinds: kinds.All()})
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	if _, ds = eval.Catalog(p, eval.Input{Target: "a"}); ds.HasErrors() {
		t.Error(ds)
	}
}
