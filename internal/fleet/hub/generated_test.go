package hub_test

import (
	"fmt"
	"slices"
	"testing"

	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/document"
)

// Targets made by for_each get the modules of their groups, also modules made by for_each. If the inventory becomes
// empty, a hub changes no target: with at_least it refuses the commit, and without it the removal waits for approval.
// It also refuses a commit in which a module has fewer instances than at_least.
func TestTargetsFromData(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text := func(atLeast int) string {
		return fmt.Sprintf(`target "n" {
  for_each = yamldecode(file("inventory.yaml"))
  at_least = %d
  labels   = { role = each.value }
}
target_group "web" {
  labels = { role = "web" }
  module "site" {
    for_each = yamldecode(file("sites.yaml"))
    at_least = 2
    source   = "modules/web"
    vars     = { port = each.value }
  }
}
`, atLeast)
	}
	w.commit(map[string]string{"fettle.hcl": text(1), "inventory.yaml": "web1: web\nweb2: web\n",
		"sites.yaml":             "{a: 1, b: 2}\n",
		"modules/web/module.hcl": "variable \"port\" {}\nfile \"/etc/motd\" { content = \"x\" }\n"})
	w.birth()
	w.start()
	w.sharer("web1", nil)
	w.sharer("web2", nil)
	modules := func() (out []string) {
		for _, name := range []string{"web1", "web2"} {
			var d document.TargetDetail
			w.ask("GET", "/v1/targets/"+name, nil, &d)
			for _, m := range d.Modules {
				out = append(out, name+" "+m.Module)
			}
		}
		return out
	}
	want := []string{"web1 modules/web", "web2 modules/web"}
	until(t, "both targets have the module once", func() ([]string, bool) {
		got := modules()
		return got, slices.Equal(got, want)
	})
	alarmed := func(kind assign.AlarmKind) {
		t.Helper()
		until(t, "the alarm "+string(kind), func() (document.AlarmPage, bool) {
			var p document.AlarmPage
			w.ask("GET", "/v1/alarms", nil, &p)
			return p, slices.ContainsFunc(p.Alarms, func(a document.Alarm) bool { return a.Kind == string(kind) })
		})
		if got := modules(); !slices.Equal(got, want) {
			t.Errorf("with the alarm %s: %v", kind, got)
		}
	}
	w.commit(map[string]string{"inventory.yaml": "{}\n"})
	alarmed(assign.Unreadable)
	w.commit(map[string]string{"fettle.hcl": text(0)})
	alarmed(assign.MassRemoval)
	w.commit(map[string]string{"inventory.yaml": "web1: web\nweb2: web\n"})
	quiet := func() {
		t.Helper()
		until(t, "no alarm", func() (document.AlarmPage, bool) {
			var p document.AlarmPage
			w.ask("GET", "/v1/alarms", nil, &p)
			return p, len(p.Alarms) == 0
		})
	}
	quiet()
	w.commit(map[string]string{"sites.yaml": "{a: 1}\n"})
	alarmed(assign.Unreadable)
	w.commit(map[string]string{"sites.yaml": "{a: 1, c: 3}\n"})
	quiet()
}
