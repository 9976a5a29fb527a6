package hostile

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/compile/limited"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/test/campaign"
	"fettle.dev/fettle/test/sample"
)

// What a compiler may take here.
const (
	patience = 3 * time.Second
	memory   = 384 << 20 // bytes
)

// compiler is a compiler with small limits; its children are this test.
func compiler(t testing.TB) *limited.Compiler {
	c := limited.New(t.Context(), compileWord)
	c.Limit(patience, memory)
	t.Cleanup(c.Close)
	return c
}

// bad is one repository that must not compile, unless it may.
type bad struct {
	name  string
	files func() map[string]string
	may   bool // it may as well compile: noise can be harmless
}

// TestConfigurations gives bad configurations to the compiler. Each is a
// diagnostic with its place and what to do; the parent stays small and goes on.
func TestConfigurations(t *testing.T) {
	all := sample.Pick(badConfigurations(pick(100, 10_000)))
	var refused, fine, lost atomic.Int64
	var wg sync.WaitGroup
	todo := make(chan bad)
	for range 4 {
		c := compiler(t)
		wg.Go(func() {
			n := 0
			for b := range todo {
				if tryOne(t, c, b, &refused, &fine) {
					lost.Add(1)
				}
				if n++; n%50 == 0 {
					alive(t, c)
				}
			}
		})
	}
	for _, b := range all {
		todo <- b
	}
	close(todo)
	wg.Wait()
	var m runtime.MemStats
	if runtime.ReadMemStats(&m); m.Sys > 2<<30 {
		t.Errorf("the parent holds %d MiB", m.Sys>>20)
	}
	campaign.Record(t, campaign.Campaign{Name: "Hostile configurations", Points: len(all), Hit: int(refused.Load()),
		Lost:   int(lost.Load()),
		Detail: fmt.Sprintf("compiled in a child of 384 MiB and 3 s; a diagnostic with a position and a remedy, or (%d mutations) harmless; the parent continues", fine.Load())})
}

// tryOne gives one configuration to a compiler.
func tryOne(t testing.TB, c *limited.Compiler, b bad, refused, fine *atomic.Int64) (lost bool) {
	t.Helper()
	files := b.files()
	_, ds := compile.Ask(c, compile.ListQuery{Input: compile.Input{Tree: repo.MapTree(files), Target: "a"}})
	if len(ds) == 1 && ds[0].Range.File == "" && strings.HasPrefix(ds[0].Summary,
		"Compiling took too") { // it had not begun: a busy machine, or the race detector's memory
		c.Limit(2*time.Minute, 4*memory)
		_, ds = compile.Ask(c, compile.ListQuery{Input: compile.Input{Tree: repo.MapTree(files), Target: "a"}})
		c.Limit(patience, memory)
	}
	switch {
	case ds.HasErrors():
		refused.Add(1)
	case b.may:
		fine.Add(1)
	default:
		t.Errorf("%s compiles", b.name)
		lost = true
	}
	for _, why := range faults(files, ds) {
		t.Errorf("%s: %s\n%.2000s", b.name, why, fmt.Sprint(ds))
		lost = true
	}
	return lost
}

// alive: the same compiler still compiles what is good.
func alive(t testing.TB, c *limited.Compiler) {
	t.Helper()
	c.Limit(2*time.Minute, memory)
	defer c.Limit(patience, memory)
	tree := repo.MapTree(map[string]string{"fettle.hcl": plainMain, "files/x": "x"})
	res, ds := compile.Ask(c, compile.ListQuery{Input: compile.Input{Tree: tree, Target: "a"}})
	if ds.HasErrors() || len(res.List) != 1 {
		t.Errorf("a good repository does not compile any more: %v", ds)
	}
}

// whole are the mistakes that are about a file and not about a line of it, and
// what ends a child wherever it is.
func whole(d diag.Diagnostic) bool {
	switch d.Summary {
	case "File too large", "Nothing is configured", "Templates nested too deeply", "Template without text",
		"Unknown target": // named on the command line
		return true
	}
	return strings.HasPrefix(d.Summary, "Compiling took too")
}

// placed tells whether a diagnostic is about a file of the repository, or about
// one of the kinds that are built in, with the way from a file of it.
func placed(files map[string]string, d diag.Diagnostic) bool {
	if _, ok := files[d.Range.File]; ok || d.Summary == "Unknown target" {
		return true
	}
	return strings.HasPrefix(d.Range.File, "stdlib/") && slices.ContainsFunc(d.Trace, func(r diag.Range) bool {
		_, ok := files[r.File]
		return ok
	})
}

// faults tells what is wrong with diagnostics.
func faults(files map[string]string, ds diag.List) (out []string) {
	for _, d := range ds {
		known := placed(files, d)
		switch {
		case d.Summary == "Compiler crashed" || d.Summary == "Invalid answer of the compiler" ||
			d.Summary == "Compiler was killed":
			out = append(out, "it brought the compiler down")
		case !known:
			out = append(out, fmt.Sprintf("no file is named, or one that is not there: %q", d.Range.File))
		case d.Range.Start.Line == 0 && !whole(d):
			out = append(out, fmt.Sprintf("no line is named: %q", d.Summary))
		case d.Detail == "" || d.Summary == "":
			out = append(out, "it does not say what to do")
		case strings.ContainsFunc(d.Summary+d.Detail,
			func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }):
			out = append(out, "it holds what a terminal acts upon")
		case len(d.Detail) > 64<<10:
			out = append(out, fmt.Sprintf("its text has %d bytes", len(d.Detail)))
		}
	}
	return out
}

// badConfigurations are n of them: what was thought of, then mutations of good
// ones until there are enough. They are the same each time.
func badConfigurations(n int) []bad {
	nest, multiply, strange := shapes(), multipliers(), strangeBytes()
	if !long() {
		nest, multiply, strange = spread(nest, n/3), spread(multiply, n/12), spread(strange, n/5)
	}
	all := slices.Concat(nest, multiply, strange)
	rng := rand.New(rand.NewPCG(14, 14))
	good := goodFiles()
	for i := 0; len(all) < n; i++ {
		text := mutate(rng, good[i%len(good)], good)
		all = append(all, bad{fmt.Sprintf("mutation %d", i), func() map[string]string {
			return map[string]string{"fettle.hcl": text, "t": "${a}", "files/x": "x"}
		}, true})
	}
	return all
}

// spread takes about n of a list, spread over it.
func spread[T any](all []T, n int) []T {
	if len(all) <= n {
		return all
	}
	out := make([]T, 0, n)
	for i := range n {
		out = append(out, all[i*len(all)/n])
	}
	return out
}

// goodFiles are the sources of the examples.
func goodFiles() []string {
	var out []string
	root := filepath.Join("..", "..", "examples")
	_ = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(p) == ".hcl" {
			out = append(out, "target \"a\" {}\n"+read(p))
		}
		return nil
	})
	return append(out, plainMain,
		"target \"a\" {}\nlocals {\n  l = [for i in range(3) : \"x${i}\" if i != 1]\n}\nfile \"f\" {\n  for_each = toset(local.l)\n  path = \"/etc/${each.key}\"\n  content = <<-EOT\n    %{if true}${each.key}%{endif}\n  EOT\n}\n")
}

// mutate breaks a text somewhere, in one of many ways.
func mutate(rng *rand.Rand, text string, good []string) string {
	b := []byte(text)
	for range 1 + rng.IntN(4) {
		i := rng.IntN(len(b) + 1)
		j := min(len(b), i+rng.IntN(40))
		switch rng.IntN(9) {
		case 0:
			if i < len(b) {
				b[i] ^= 1 << rng.IntN(8)
			}
		case 1:
			b = append(b[:i:i], b[j:]...)
		case 2:
			b = append(append(append([]byte{}, b[:j]...), b[i:j]...), b[j:]...)
		case 3:
			words := tokens()
			b = append(append(append([]byte{}, b[:i]...), words[rng.IntN(len(words))]...), b[i:]...)
		case 4:
			b = b[:i:i]
		case 5:
			other := good[rng.IntN(len(good))]
			k := rng.IntN(len(other))
			b = append(append(append([]byte{}, b[:i]...), other[k:min(len(other), k+200)]...), b[i:]...)
		case 6:
			b = append(append(append([]byte{}, b[:i]...), byte(rng.IntN(256))), b[i:]...)
		case 7:
			b = []byte(strings.Replace(string(b), "\"", "", 1))
		case 8:
			lines := strings.Split(string(b), "\n")
			x, y := rng.IntN(len(lines)), rng.IntN(len(lines))
			lines[x], lines[y] = lines[y], lines[x]
			b = []byte(strings.Join(lines, "\n"))
		}
	}
	return string(b)
}

func tokens() []string {
	return []string{"${", "}", "%{", "%{for x in ", "%{endfor}", "<<EOT\n", "EOT\n", "[", "]", "(", ")", "{", "\"",
		"\\u202e", "\\U00110000", "=", "=>", "...", "? :", "!", "-", "1e99", "null", "each.value", "var.x",
		"local.", "fact.a", "file.x.reload", "immediate(", "target \"a\" {}\n", "define \"k\" {", "block \"b\" {",
		"for_each = ", "notify = [", "when = ", "\x00", "\xff", "\r", "\ufeff", "/*", "*/", "#", "//"}
}

// TestDataIsNotEvaluated: what facts, variables and files hold stays what it is,
// however much it looks like the language.
func TestDataIsNotEvaluated(t *testing.T) {
	c := compiler(t)
	c.Limit(2*time.Minute, memory)
	looks := []string{"${file(\"/etc/passwd\")}", "%{for x in [1]}${x}%{endfor}", "$${x}", "${var.v}",
		"${fact.hostname}", "{{ 7*7 }}", "`id`", "$(id)", "%%{if true}", "<<EOT\nEOT", "\\u0041", "\"", "${\"${7}\"}", "${",
		"%{", "}"}
	places := []string{
		`fact.hostname`, `"${fact.hostname}"`, `fact.addresses.eth0[0]`, `fact.mac_addresses.k`, `var.v`, `"${var.v}"`,
		`file("data")`, `jsondecode(file("json")).k`, `yamldecode(file("json")).k`,
		`templatefile("t", { a = fact.hostname })`,
		`join("", [for x in fact.addresses.eth0 : x])`, `format("%s", fact.hostname)`, `replace("X", "X", fact.hostname)`,
		`trimspace(fact.hostname)`, `lookup(fact.mac_addresses, "k", "")`, `try(fact.hostname, "")`, `[fact.hostname][0]`,
		`{ k = fact.hostname }.k`, `(true ? fact.hostname : "")`,
		`element(values(fact.mac_addresses), 0)`, `jsondecode(jsonencode(fact.hostname))`,
	}
	n := 0
	for _, text := range looks {
		for _, place := range places {
			src := "target \"a\" {}\nfact \"hostname\" { type = string }\nfact \"addresses\" { type = map(list(string)) }\nfact \"mac_addresses\" { type = map(string) }\nvariable \"v\" { type = string }\nfile \"/etc/x\" { content = " + place + " }\n"
			json, err := jsonText(text)
			must(t, err)
			tree := repo.MapTree(map[string]string{"fettle.hcl": src, "data": text, "json": `{"k": ` + json + `}`, "t": "${a}"})
			v := cty.StringVal(text)
			res, ds := compile.Ask(c, compile.ListQuery{Input: compile.Input{Tree: tree, Target: "a",
				Vars: map[string]string{"v": text},
				Facts: map[string]cty.Value{"hostname": v,
					"addresses":     cty.MapVal(map[string]cty.Value{"eth0": cty.ListVal([]cty.Value{v})}),
					"mac_addresses": cty.MapVal(map[string]cty.Value{"k": v})}}})
			if ds.HasErrors() || len(res.List) != 1 {
				t.Errorf("%s of %q: %v", place, text, ds)
				continue
			}
			if got := string(res.Blobs[res.List[0].Blob()].Data); got != text &&
				strings.TrimSpace(got) != strings.TrimSpace(text) {
				t.Errorf("%s of %q became %q", place, text, got)
			}
			n++
		}
	}
	campaign.Record(t, campaign.Campaign{Name: "Hostile configurations", Variant: "data that looks like the language",
		Points: n, Hit: n, Detail: "facts, variables and files, inserted into text in every possible way; never evaluated"})
}
