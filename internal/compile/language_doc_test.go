package compile_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/repo"
)

// The examples of docs/language.md in other forms compile unchanged.
func TestDocumentedForms(t *testing.T) {
	text, err := os.ReadFile("../../docs/language.md")
	if err != nil {
		t.Fatal(err)
	}
	beside := map[string]string{
		"templates/site.conf.tmpl": "${domain} ${tls}\n",
		"people.yaml":              "ann: {uid: 2001}\nbob: {uid: 2002}\n",
		"sites.star":               "sites = {\"a\": 8080, \"b\": 8081}\n",
		"homes.hcl":                "variable \"homes\" { default = \"/home\" }\n",
	}
	blocks := regexp.MustCompile("(?s)```(yaml|python)\n# (\\S+)\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) != 3 {
		t.Fatalf("%d examples, want 3", len(blocks))
	}
	for _, b := range blocks {
		name := b[2][strings.LastIndexByte(b[2], '/')+1:]
		texts := map[string]string{name: b[3]}
		for k, v := range beside {
			texts[k] = v
		}
		res, ds := compile.Compile(compile.Input{Tree: repo.MapTree(texts), Vars: variables(b[3])})
		if ds.HasErrors() || len(res.List) < 2 {
			t.Errorf("%s: %s%s", b[2], res.List, shown(ds))
		}
	}
}

// variables returns the variables that an example does not define.
func variables(text string) map[string]string {
	if strings.Contains(text, "domain") {
		return map[string]string{"domain": "example.org"}
	}
	return nil
}
