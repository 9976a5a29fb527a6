package query_test

import (
	"fmt"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/kind/kinds"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/repo"
)

// declared returns the states of a repository as text.
func declared(t testing.TB, texts map[string]string) (out string, wrong bool) {
	t.Helper()
	p, ds := source.Load(repo.MapTree(texts), source.Options{Kinds: kinds.All()})
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	list, ds := query.DeclaredStates(p)
	for _, s := range list {
		out += fmt.Sprintf("%s:%d %s %s %s\n", s.File, s.Line, s.Directory, s.Kind, strings.Join(s.Names, " "))
	}
	return out, ds.HasErrors()
}

// TestDeclaredStates: each state of a repository has its place and the objects that it manages. An expression that only
// a target can evaluate is as written.
func TestDeclaredStates(t *testing.T) {
	got, wrong := declared(t, map[string]string{
		"fettle.hcl": "file \"/etc/motd\" {\n  content = \"hidden\"\n}\ntarget \"web1\" { modules = [\"web\"] }\n",
		"modules/web/module.hcl": `package "nginx" {}
package "tools" { names = ["git", "tmux"] }
file "config" {
  path    = "/etc/nginx/nginx.conf"
  content = "password"
}
variable "name" { default = "x" }
file "site" {
  path = "/etc/nginx/${var.name}.conf"
}
block "b" {
  service "nginx" {}
}
file_line "/etc/hosts" {
  line = "10.0.0.1 db"
}
define "vhost" {
  variable "name" {}
  file "vhost" {
    path = "/srv/${var.name}"
  }
}
vhost "shop" {}
json_key "log" {
  path  = "/etc/docker/daemon.json"
  value = "s3cret"
}
`,
		"modules/yaml/module.fettle.yaml": "package:\n  htop: {}\nfile:\n  /etc/issue:\n    content: x\n",
	})
	want := `fettle.hcl:1 . file /etc/motd
modules/web/module.hcl:1 modules/web package nginx
modules/web/module.hcl:2 modules/web package tools git tmux
modules/web/module.hcl:3 modules/web file /etc/nginx/nginx.conf
modules/web/module.hcl:8 modules/web file /etc/nginx/${var.name}.conf
modules/web/module.hcl:12 modules/web service nginx
modules/web/module.hcl:14 modules/web file_line /etc/hosts
modules/web/module.hcl:23 modules/web vhost shop
modules/web/module.hcl:24 modules/web json_key log /etc/docker/daemon.json
modules/web/module.hcl:19 modules/web file /srv/${var.name}
modules/yaml/module.fettle.yaml:2 modules/yaml package htop
modules/yaml/module.fettle.yaml:4 modules/yaml file /etc/issue
`
	if got != want || wrong {
		t.Errorf("%t, got\n%s", wrong, got)
	}
}

// TestStatesOfBadModules: a module with an error has the states that can be read, and other modules have all.
func TestStatesOfBadModules(t *testing.T) {
	got, wrong := declared(t, map[string]string{"fettle.hcl": "target \"web1\" {}\n",
		"modules/bad/module.hcl": "package \"a\" {}\nthis is wrong\n", "modules/good/module.hcl": "package \"b\" {}\n"})
	if !wrong || !strings.Contains(got, "modules/good package b\n") {
		t.Errorf("%t %s", wrong, got)
	}
}

// TestManyNames: the number of names and their length are limited.
func TestManyNames(t *testing.T) {
	var many []string
	for i := range query.MaxStateNames + 5 {
		many = append(many, fmt.Sprintf("%q", fmt.Sprint("p", i)))
	}
	got, _ := declared(t, map[string]string{"fettle.hcl": "package \"" + strings.Repeat("ü", 500) + "\" {}\n" +
		"package \"many\" { names = [" + strings.Join(many, ", ") + "] }\n"})
	first, second, _ := strings.Cut(got, "\n")
	if strings.Count(first, "ü") != query.MaxStateName/2 || len(strings.Fields(second)) != 3+query.MaxStateNames {
		t.Error(got)
	}
}
