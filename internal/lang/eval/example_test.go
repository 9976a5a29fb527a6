package eval_test

import (
	"fmt"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/kind/kinds"
	"fettle.dev/fettle/internal/lang/eval"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/repo"
)

func Example() {
	tree := repo.MapTree(map[string]string{"fettle.hcl": `file "/etc/motd" { content = "Welcome to ${target.name}\n" }`})
	p, _ := source.Load(tree, source.Options{Kinds: kinds.All()})
	c, ds := eval.Catalog(p, eval.Input{})
	fmt.Println(c.Nodes[0].ID, len(ds))
	fmt.Print(c.Nodes[0].State.Str("content"))
	// Output:
	// file["/etc/motd"] 0
	// Welcome to local
}

func TestFunctions(t *testing.T) {
	for expr, want := range map[string]string{
		`upper("a")`:                                   "A",
		`join(",", sort(["b", "a"]))`:                  "a,b",
		`yamlencode({ b = 1, a = ["x", true, null] })`: "a:\n    - x\n    - true\n    - null\nb: 1\n",
		`yamldecode("a: [1, {b: c}]").a[1].b`:          "c",
		`jsonencode({ b = 1, a = [] })`:                `{"a":[],"b":1}`,
		`jsondecode("[1, 2]")[1]`:                      "2",
		`sha256("")`:                                   "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		`base64decode(base64encode("ä"))`:              "ä",
		`urlencode("a b&c")`:                           "a+b%26c",
		`try(jsondecode("nope"), "no")`:                "no",
		`can(tonumber("x")) ? "yes" : "no"`:            "no",
		`regexreplace("a1b2", "[0-9]", "-")`:           "a-b-",
		`repeat("ab", 3)`:                              "ababab",
		`sum([1, 2.5])`:                                "3.5",
		`length({ a = 1, b = 2 })`:                     "2",
		`length("äö")`:                                 "2",
		`file("t/x.txt")`:                              "x ${y}\n",
		`join(" ", fileset("t", "**/*.txt"))`:          "deep/z.txt x.txt",
		`join(" ", fileset(".", "t/*.txt"))`:           "t/x.txt",
		`fileexists("t/no") ? "yes" : "no"`:            "no",
		`filesha256("t/x.txt") == sha256(file("t/x.txt")) ? "same" : "other"`: "same",
		`format("%s-%03d", "a", 7)`:       "a-007",
		`lookup({ a = "x" }, "b", "d")`:   "d",
		`coalesce(null, "", "c")`:         "",
		`startswith("abc", "ab") ? 1 : 0`: "1",
		`basename(dirname("/a/b/c"))`:     "b",
		`indent(2, "a\nb")`:               "a\n  b",
		`substr("hello", 1, 3)`:           "ell",
	} {
		got, ds := evaluate(expr)
		if ds != "" || got != want {
			t.Errorf("%s is %q, want %q; %s", expr, got, want, ds)
		}
	}
}

// Expressions are refused if they could fill the memory or depend on the time.
func TestFunctionsThatAreRefused(t *testing.T) {
	for _, expr := range []string{
		`repeat("a", 100000000)`, `indent(100000000, "a\nb")`, `format("%999999999d", 1)`, `pow(10, 100000)`,
		`jsondecode("` + strings.Repeat("[", 5000) + `")`, `yamldecode("` + strings.Repeat("[", 50000) + `")`,
		`timestamp()`, `uuid()`, `file("../x")`, `file("t")`, `fileset("..", "*")`, `templatefile("t/loop.tmpl", {})`,
		`yamldecode("a: *b")`,
		`base64decode("//8=")`, `range(1000000)`,
	} {
		if got, ds := evaluate(expr); ds == "" {
			t.Errorf("%.40s is %.40q", expr, got)
		}
	}
}

func evaluate(expr string) (string, string) {
	tree := repo.MapTree(map[string]string{
		"fettle.hcl": "file \"/etc/x\" { content = " + expr + " }\n",
		"t/x.txt":    "x ${y}\n", "t/deep/z.txt": "", "t/loop.tmpl": "${templatefile(\"t/loop.tmpl\", {})}",
	})
	p, ds := source.Load(tree, source.Options{Kinds: kinds.All()})
	if ds.HasErrors() {
		return "", ds.Err().Error()
	}
	c, ds := eval.Catalog(p, eval.Input{})
	if ds.HasErrors() {
		return "", ds.Err().Error()
	}
	return c.Nodes[0].State.Str("content"), ""
}
