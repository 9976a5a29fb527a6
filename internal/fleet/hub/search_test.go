package hub_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// TestSearch: a user with the right to read finds files and packages of the assigned commit, and not those of an
// earlier commit. Content of files is not searched.
func TestSearch(t *testing.T) {
	w := newWorld(t)
	w.commit(map[string]string{
		"fettle.hcl":             "target_group \"web\" {\n  labels = { role = \"web\" }\n  modules = [\"web\"]\n}\n",
		"modules/web/module.hcl": "package \"nginx\" {}\nfile \"/etc/old\" {\n  content = \"hidden\"\n}\n",
		"modules/db/module.hcl":  "package \"postgresql\" {}\n",
	})
	w.birth()
	w.start()
	var tok document.NewToken
	w.ask("POST", "/v1/tokens", document.TokenRequest{Labels: map[string]string{"role": "web"}, Uses: 1}, &tok)
	w.agent("web1", tok.Secret)
	ann := w.user("ann", "read")
	find := func(text string) document.Search {
		t.Helper()
		d, err := client.GetAt(t.Context(), ann, route.Search(), route.SearchQuery{Text: text})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	d := until(t, "the package", func() (document.Search, bool) {
		d := find("nginx")
		return d, len(d.States) == 1
	})
	if s := d.States[0]; s.Kind != "package" || s.File != "modules/web/module.hcl" || s.Line != 1 || s.Targets != 1 ||
		strings.Join(s.First, " ") != "web1" || len(s.Commits) != 1 {
		t.Errorf("%+v", s)
	}
	for _, text := range []string{"hidden", "postgresql"} { // the module db has no target
		if d := find(text); !d.Empty() {
			t.Errorf("%q: %+v", text, d)
		}
	}
	w.commit(map[string]string{"modules/web/module.hcl": "file \"/etc/new\" {\n  content = \"two\"\n}\n"})
	until(t, "the file of the new commit", func() (document.Search, bool) {
		d := find("/etc/")
		return d, len(d.States) == 1 && d.States[0].Names[0] == "/etc/new"
	})
	if d := find("nginx"); !d.Empty() {
		t.Errorf("the package of the earlier commit is still found: %+v", d)
	}
	var p *document.Problem
	_, err := client.GetAt(t.Context(), ann, route.Search(), route.SearchQuery{Text: strings.Repeat("x", 201)})
	if !errors.As(err, &p) || p.Status != http.StatusBadRequest || p.Hint == "" {
		t.Errorf("a long text: %v", err)
	}
}
