package fleet_test

import (
	"maps"
	"reflect"
	"testing"
	"unsafe"

	"fettle.dev/fettle/internal/fleet"
)

// Equal labels share one map, and different labels stay unchanged.
func TestAlike(t *testing.T) {
	var a fleet.LabelPool
	same := func(x, y map[string]string) bool {
		return reflect.ValueOf(x).Pointer() == reflect.ValueOf(y).Pointer()
	}
	web := map[string]string{"role": "web", "env": "prod"}
	if first := a.Labels(web); !same(first, web) {
		t.Error("the first ones are not those that were given")
	}
	if again := a.Labels(maps.Clone(web)); !same(again, web) {
		t.Error("labels that are the same lie twice in memory")
	}
	for _, other := range []map[string]string{{"role": "web"}, {"role": "web", "env": "test"},
		{"role": "web\x00env", "prod": ""}, {}} {
		if got := a.Labels(other); !same(got, other) {
			t.Errorf("%v became %v", other, got)
		}
	}
	if a.Labels(nil) != nil {
		t.Error("none became some")
	}
	x, y := fleet.Intern(fleet.Standing([]byte("active"))), fleet.Intern(fleet.Standing([]byte("active")))
	if x != "active" || unsafe.StringData(string(x)) != unsafe.StringData(string(y)) {
		t.Errorf("%q and %q lie twice in memory", x, y)
	}
}
