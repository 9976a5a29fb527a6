package query_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind/kinds"
	"fettle.dev/fettle/internal/lang/eval"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/repo"
)

// update rewrites the expectations of testdata. Review the difference like code.
var update = flag.Bool("update", false, "rewrite the expectations")

// inventory returns the targets of a repository as text, sorted by name, and its errors.
func inventory(texts map[string]string) (targets, mistakes string) {
	p, ds := source.Load(repo.MapTree(texts), source.Options{Kinds: kinds.All()})
	var list []query.Target
	if !ds.HasErrors() {
		list, ds = query.Targets(p)
		if !ds.HasErrors() {
			_, ds = eval.Catalog(p, eval.Input{Target: list[0].Name})
		}
	}
	for _, d := range ds {
		mistakes += d.String() + "\n  | " + strings.TrimSpace(d.Line) + "\n"
	}
	slices.SortFunc(list, func(a, b query.Target) int { return strings.Compare(a.Name, b.Name) })
	for _, t := range list {
		targets += described(t) + "\n"
	}
	return targets, mistakes
}

func described(t query.Target) string {
	out := []string{t.Name}
	list := func(name string, values []string) {
		if len(values) > 0 {
			out = append(out, name+"="+strings.Join(values, ","))
		}
	}
	list("roles", t.Roles)
	list("groups", t.Groups)
	list("labels", pairs(t.Labels, ":"))
	if t.SSH == nil {
		return strings.Join(out, " ")
	}
	out = append(out, "ssh", "host="+t.SSH.Host)
	if t.SSH.User != "" {
		out = append(out, "user="+t.SSH.User)
	}
	if t.SSH.Port != 0 {
		out = append(out, fmt.Sprint("port=", t.SSH.Port))
	}
	if t.SSH.Sudo {
		out = append(out, "sudo")
	}
	return strings.Join(append(out, pairs(t.SSH.Options, "=")...), " ")
}

func pairs(m map[string]string, between string) []string {
	var out []string
	for k, v := range m {
		out = append(out, k+between+v)
	}
	slices.Sort(out)
	return out
}

// The ssh settings of targets, and the errors of invalid settings.
func TestSSH(t *testing.T) {
	files, err := filepath.Glob("testdata/ssh/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			texts := map[string]string{}
			for _, f := range a.Files {
				texts[f.Name] = string(f.Data)
			}
			got := map[string]string{}
			got["targets"], got["errors"] = inventory(texts)
			for i, f := range a.Files {
				if want, ok := got[f.Name]; ok && want != string(f.Data) {
					if a.Files[i].Data = []byte(want); !*update {
						t.Errorf("%s:\n%swant:\n%s", f.Name, want, f.Data)
					}
				}
			}
			if texts["errors"] == "" && got["errors"] != "" && !*update {
				t.Error(got["errors"])
			}
			if *update {
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// An ssh block does not affect a list.
func TestSSHChangesNoList(t *testing.T) {
	catalog := func(ssh string) string {
		p, _ := source.Load(repo.MapTree(map[string]string{"fettle.hcl": "file \"/x\" { content = target.name }\ntarget \"t\" {" + ssh + "}\n"}), source.Options{Kinds: kinds.All()})
		c, ds := eval.Catalog(p, eval.Input{})
		return fmt.Sprint(c.Nodes[0].State.Attrs, c.Policy, c.Labels, ds)
	}
	if with, without := catalog("\n  ssh {\n    host = \"x\"\n  }\n"), catalog(""); with != without {
		t.Errorf("%s\nwithout ssh %s", with, without)
	}
}

// For all combinations of levels, the highest level that sets an attribute wins.
func TestSSHMerge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		levels := []string{"", `target_group "g" { targets = ["*"]`, `target_group "h" { targets = ["t"]`, `target "t" {`}
		want := query.Target{Name: "t", Groups: []string{"g", "h"}}
		host, user, port, sudo, enabled, blocks := "t", "", 0, false, true, false
		text := ""
		for i, head := range levels {
			block := ""
			if rapid.Bool().Draw(t, "block") {
				blocks = true
				block = "ssh {\n"
				if rapid.Bool().Draw(t, "host") {
					host = fmt.Sprint("h", i)
					block += fmt.Sprintf("host = %q\n", host)
				}
				if rapid.Bool().Draw(t, "user") {
					user = fmt.Sprint("u", i)
					block += fmt.Sprintf("user = %q\n", user)
				}
				if rapid.Bool().Draw(t, "port") {
					port = i + 1
					block += fmt.Sprintf("port = %d\n", port)
				}
				for name, into := range map[string]*bool{"sudo": &sudo, "enabled": &enabled} {
					if v := rapid.SampledFrom([]string{"", "true", "false", "null"}).Draw(t, name); v != "" {
						block += name + " = " + v + "\n"
						if v != "null" {
							*into = v == "true"
						}
					}
				}
				block += "}\n"
			}
			if head == "" {
				text += block
			} else {
				text += strings.Replace(head, "{ ", "{\n", 1) + "\n" + block + "}\n"
			}
		}
		if blocks && enabled {
			want.SSH = &query.SSH{Host: host, User: user, Port: port, Sudo: sudo}
		}
		got, mistakes := inventory(map[string]string{"fettle.hcl": text})
		if mistakes != "" || got != described(want)+"\n" {
			t.Fatalf("%s\ncomes to %swant %s\n%s", text, got, described(want), mistakes)
		}
	})
}

// FuzzSSH: ssh does not read a valid value as an option, and a shell would read it as one word.
func FuzzSSH(f *testing.F) {
	f.Add("web1", "admin", 22, "ProxyJump", "a@b:22,c")
	f.Add("2001:db8::1%eth0", "", 0, "Tag", "x")
	f.Add("-oProxyCommand=id", "$(id)", -1, "Match", "exec id")
	f.Fuzz(func(t *testing.T, host, user string, port int, option, value string) {
		s := query.SSH{Host: host, User: user, Port: port, Options: map[string]string{option: value}}
		if s.Valid() != nil {
			return
		}
		for _, word := range []string{host, user} {
			if strings.HasPrefix(word, "-") || strings.ContainsAny(word, " \t\n\x00'\"`$\\;&<>|(){}") {
				t.Fatalf("%q is valid", word)
			}
		}
		if port < 0 || port > 65535 || strings.ContainsAny(value, "\n\x00") || strings.EqualFold(option, "ProxyCommand") {
			t.Fatalf("%+v is valid", s)
		}
	})
}

// An error in an attribute that all targets share is reported once.
func TestSSHErrorOnce(t *testing.T) {
	text := "ssh { host = \"${target.labels.x}.example.org\" }\n"
	for i := range 100 {
		text += fmt.Sprintf("target \"t%d\" {}\n", i)
	}
	p, _ := source.Load(repo.MapTree(map[string]string{"fettle.hcl": text}), source.Options{})
	_, ds := query.Targets(p)
	if len(ds) != 1 || ds[0].Severity != diag.Error || !strings.Contains(ds[0].Detail, `The target is "t0"`) {
		t.Error(ds)
	}
}

// Targets with the same levels share the list of their modules, and only those.
func TestTargetModules(t *testing.T) {
	p, _ := source.Load(repo.MapTree(map[string]string{
		"fettle.hcl": `role "r" { modules = ["a"] }
role "s" { modules = ["b"] }
target "t1" { roles = ["r"] }
target "t2" {
  roles   = ["r"]
  modules = ["b"]
}
target "t3" { roles = ["r"] }
target "t4" { roles = ["s"] }
target "t5" {
  roles = ["r"]
  module "c" { source = "modules/b" }
}
target "t6" { roles = ["r", "s"] }
`,
		"modules/a/m.hcl": "", "modules/b/m.hcl": "",
	}), source.Options{})
	list, ds := query.Targets(p)
	var got []string
	for _, x := range list {
		got = append(got, x.Name+strings.ReplaceAll(strings.Join(x.Modules, ""), "modules/", " "))
	}
	if want := "t1 a, t2 a b, t3 a, t4 b, t5 a b, t6 a b"; len(ds) > 0 || strings.Join(got, ", ") != want {
		t.Errorf("%s\nwant %s\n%v", strings.Join(got, ", "), want, ds)
	}
}
