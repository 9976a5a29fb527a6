package examples

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/test/gobuild"
)

// holding are the environments and clusters of the holding, with their members.
func holding() map[string]string {
	return map[string]string{
		"environment/press-production": "press-production-db1 press-production-db2 press-production-web1 " +
			"press-production-web2",
		"environment/press-staging": "press-staging-web1",
		"environment/shop-production": "shop-production-db1 shop-production-db2 shop-production-search1 " +
			"shop-production-web1 shop-production-web2",
		"environment/shop-staging": "shop-staging-db1 shop-staging-web1",
		"cluster/press-db":         "press-production-db1 press-production-db2",
		"cluster/shop-db":          "shop-production-db1 shop-production-db2",
		"cluster/shop-search":      "shop-production-search1",
	}
}

// TestHolding compares the environments and clusters of the holding with their members.
func TestHolding(t *testing.T) {
	all, ds := compile.Scopes(source.FSTree(os.DirFS("holding")))
	if len(ds) > 0 {
		t.Fatal(ds)
	}
	got := map[string]string{}
	for _, s := range all.Scopes {
		got[s.ID()] = strings.Join(s.Targets, " ")
		if s.Element == nil || s.Element.Key != s.Name || s.MinMembers != len(s.Targets) {
			t.Errorf("%s: element %+v, %d members", s.ID(), s.Element, s.MinMembers)
		}
	}
	if !maps.Equal(got, holding()) {
		t.Errorf("the scopes are %v", got)
	}
}

// TestHoldingOnARoot applies a target of each role and environment of the holding to a directory, plans again without
// changes, and rolls back.
func TestHoldingOnARoot(t *testing.T) {
	bin, repository := filepath.Join(t.TempDir(), "fettle"), t.TempDir()
	err := errors.Join(gobuild.Program(bin, gobuild.Fettle), os.CopyFS(repository, os.DirFS("holding")))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"press-staging-web1 etc/holding/proxy.conf": "http://news.staging.press.example.org/ 127.0.0.1:8081\n",
		"shop-production-web1 etc/holding/proxy.conf": "http://catalog.shop.example.org/ 127.0.0.1:8081\n" +
			"http://checkout.shop.example.org/ 127.0.0.1:8082\n",
		"shop-staging-web1 etc/holding/site-8082.conf":     "workers 2\n",
		"shop-staging-web1 etc/issue.net":                  "This is not the real shop.\n",
		"shop-staging-db1 etc/holding/service.conf":        "db with 2 workers\n",
		"shop-production-search1 etc/holding/service.conf": "search with 16 workers\n",
		"press-production-db1 etc/holding/host":            "db of press in press-production\n",
		"press-production-web1 etc/holding/site-8082.conf": "",
		"press-production-web1 etc/issue.net":              "",
	}
	targets, ds := compile.Targets(source.FSTree(os.DirFS("holding")))
	if len(ds) > 0 || len(targets) != 12 {
		t.Fatal(len(targets), ds)
	}
	for _, x := range targets {
		if !strings.HasSuffix(x.Name, "1") {
			continue
		}
		t.Run(x.Name, func(t *testing.T) {
			root, state := t.TempDir(), t.TempDir()
			fettle := func(args ...string) {
				t.Helper()
				args = append(args, "-C", repository, "-t", x.Name, "--root", root, "--state", state)
				if out, err := exec.Command(bin, args...).CombinedOutput(); err != nil {
					t.Fatalf("fettle %q: %v\n%s", args, err, out)
				}
			}
			if err := os.Mkdir(filepath.Join(root, "etc"), 0o755); err != nil {
				t.Fatal(err)
			}
			fettle("apply", "--yes")
			fettle("plan")
			for _, at := range slices.Sorted(maps.Keys(want)) {
				name, file, _ := strings.Cut(at, " ")
				if name != x.Name {
					continue
				}
				if got, _ := os.ReadFile(filepath.Join(root, file)); string(got) != want[at] {
					t.Errorf("%s is %q, not %q", file, got, want[at])
				}
			}
			if out, err := exec.Command(bin, "rollback", "origin", "--yes", "--root", root, "--state",
				state).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if left, err := os.ReadDir(filepath.Join(root, "etc")); err != nil || len(left) > 0 {
				t.Errorf("a rollback to the origin leaves %v, %v", left, err)
			}
		})
	}
}

// TestGenerators compares the targets and clusters of the recipe with many sources with their names and labels.
func TestGenerators(t *testing.T) {
	tree := source.FSTree(os.DirFS("cookbook/generators"))
	targets, ds := compile.Targets(tree)
	if len(ds) > 0 {
		t.Fatal(ds)
	}
	got := map[string]string{}
	for _, x := range targets {
		var labels []string
		for _, k := range slices.Sorted(maps.Keys(x.Labels)) {
			labels = append(labels, k+"="+x.Labels[k])
		}
		got[x.Name] = strings.Join(append(labels, x.Element.Block), " ")
	}
	want := map[string]string{
		"ams-mail": "backup=daily site=ams host", "ber-print": "site=ber host",
		"bastion-ams": "role=bastion site=ams bastion", "bastion-ber": "role=bastion site=ber bastion",
		"cache-ams-a": "rack=a role=cache site=ams cache", "cache-ams-b": "rack=b role=cache site=ams cache",
		"cache-ber-a": "rack=a role=cache site=ber cache", "cache-ber-b": "rack=b role=cache site=ber cache",
		"erp1": "role=erp site=ams cmdb", "erp2": "role=erp site=ber cmdb",
		"firewall-ams": "role=firewall site=ams firewall", "firewall-ber": "role=firewall site=ber firewall",
		"shop-books": "beta=no role=shop site=ams shop", "shop-music": "beta=yes role=shop site=ber shop",
		"shop-toys":    "beta=no role=shop site=ber shop",
		"worker-ams-1": "role=worker site=ams worker", "worker-ams-2": "role=worker site=ams worker",
		"worker-ber-1": "role=worker site=ber worker",
	}
	if !maps.Equal(got, want) {
		t.Errorf("the targets are %v", got)
	}
	res, ds := compile.Compile(compile.Input{Tree: tree, Target: "shop-music"})
	if list := res.List.String(); len(ds) > 0 || strings.Count(list, "/etc/shop-808") != 2 {
		t.Errorf("%s %v", list, ds)
	}
	for _, s := range res.List {
		const want = "default 127.0.0.1:8082\nroute /catalog 127.0.0.1:8081\nroute /checkout 127.0.0.1:8082\n"
		if content := string(res.Blobs[s.Blob()].Data); s.Path() == "/etc/proxy.conf" && content != want {
			t.Errorf("the proxy has %q", content)
		}
	}
	all, ds := compile.Scopes(tree)
	if len(ds) > 0 || len(all.Scopes) != 2 || strings.Join(all.Scopes[0].Targets, " ") != "cache-ams-a cache-ams-b" {
		t.Errorf("%+v %v", all.Scopes, ds)
	}
}
