package plan_test

import (
	"testing"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/step"
)

// bare knows of absence and of packages.
type bare struct{}

func (bare) Target(s step.Step, now image.Image) (image.Image, error) {
	if s.Verb == step.Pkg {
		return image.Of(&image.Package{Version: "1"}), nil
	}
	return image.Of(&image.File{Type: image.Absent}), nil
}
func (bare) Irreversible(step.Step, image.Image, image.Image) string { return "" }
func (bare) UserName(uint32) string                                  { return "root" }
func (bare) GroupName(uint32) string                                 { return "root" }

// TestAbsenceBehindAPackage: what must not be there, and is not, is looked at
// again where the plan installs a package before it, which may bring it along.
func TestAbsenceBehindAPackage(t *testing.T) {
	list, ds := step.Parse("list", []byte("RM /etc/before\nPKG nginx\nRM /etc/nginx/sites-enabled/default\n"))
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	for _, installed := range []string{"", "1"} {
		absent := image.Of(&image.File{Type: image.Absent})
		p, ds := plan.Make(plan.Input{Desired: list, Rules: bare{}, Repair: true, Observed: map[addr.Addr]image.Image{
			list[0].Addr(): absent, list[1].Addr(): image.Of(&image.Package{Version: installed}), list[2].Addr(): absent}})
		if len(ds) > 0 || len(p.Changes) != 3 {
			t.Fatal(ds, p.Changes)
		}
		want := plan.Update
		if installed != "" {
			want = plan.Adopt
		}
		if p.Changes[0].Action != plan.Adopt || p.Changes[2].Action != want {
			t.Errorf("nginx %q: %s, %s; want adopt, %s", installed, p.Changes[0].Action, p.Changes[2].Action, want)
		}
	}
}
