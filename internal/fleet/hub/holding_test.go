package hub_test

import (
	"crypto/tls"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/document"
)

// TestHolding gives the example with two organizations to a hub: targets get the modules of their elements, scopes show
// the elements that made them, and a user of an organization sees only its targets.
func TestHolding(t *testing.T) {
	t.Parallel()
	w := &tenancy{world: newWorld(t), client: &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}}
	files, tree := map[string]string{}, os.DirFS("../../../examples/holding")
	err := fs.WalkDir(tree, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(tree, p)
		files[p] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	w.commit(files)
	w.birth()
	w.start()
	names := []string{"press-staging-web1", "shop-production-db1", "shop-production-web1"}
	for _, name := range names {
		organization, _, _ := strings.Cut(name, "-")
		var tok document.NewToken
		w.ask("POST", "/v1/tokens", document.TokenRequest{Uses: 1, Organization: organization}, &tok)
		w.agent(name, tok.Secret)
	}
	const web = "modules/base modules/site modules/web"
	for name, want := range map[string]string{"press-staging-web1": web, "shop-production-web1": web,
		"shop-production-db1": "modules/base modules/service"} {
		until(t, "the modules of "+name, func() (string, bool) {
			var d document.TargetDetail
			w.ask("GET", "/v1/targets/"+name, nil, &d)
			var modules []string
			for _, m := range d.Modules {
				modules = append(modules, m.Module)
			}
			slices.Sort(modules)
			got := strings.Join(modules, " ")
			return got, got == want
		})
	}
	until(t, "seven scopes", func() (int, bool) {
		var p document.ScopePage
		w.ask("GET", "/v1/scopes", nil, &p)
		return p.Total, p.Total == 7
	})
	for id, want := range map[string][2]string{
		"environment/shop-production": {"shop-production", `"workers":16`}, "cluster/press-db": {"press-db", `"port":5432`},
	} {
		var d document.ScopeDetail
		w.ask("GET", "/v1/scopes/"+id, nil, &d)
		if d.Element != want[0] || !strings.Contains(d.Parameters, want[1]) {
			t.Errorf("%s is made of the element %q, %s", id, d.Element, d.Parameters)
		}
	}
	for organization, want := range map[string]string{"press": "press-staging-web1",
		"shop": "shop-production-db1 shop-production-web1"} {
		w.ask("POST", "/v1/users", document.UserRequest{Name: organization, Roles: []string{"read"},
			Organization: &organization}, &document.Done{})
		var login document.NewLogin
		w.ask("POST", "/v1/users/"+organization+"/login", document.LoginRequest{}, &login)
		status, text := w.call(&tenant{login: login.Secret}, "GET", "/v1/targets", nil)
		var got []string
		for _, name := range names {
			if strings.Contains(text, name) {
				got = append(got, name)
			}
		}
		if status != http.StatusOK || strings.Join(got, " ") != want {
			t.Errorf("a user of %s sees %q: %d %s", organization, got, status, text)
		}
	}
}
