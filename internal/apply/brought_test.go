package apply

import (
	"reflect"
	"testing"

	"fettle.dev/fettle/internal/image"
)

// TestForeseen: the attempt that was cut short has changed marks, so its before-image counts,
// also if it did not foresee further changes of packages.
func TestForeseen(t *testing.T) {
	of := func(p image.Package) image.Image { return image.Of(&p) }
	lib := map[string]string{"lib": "1"}
	for name, c := range map[string]struct {
		found, want image.Image
	}{
		"no attempt": {image.Image{}, of(image.Package{Version: "1", AutoBefore: []string{"now"}})},
		"the attempt planned it": {of(image.Package{Version: "1"}),
			of(image.Package{Version: "1", AutoBefore: []string{"now"}})},
		"marks": {of(image.Package{AutoBefore: []string{"then"}}),
			of(image.Package{Version: "1", AutoBefore: []string{"then"}})},
		"packages": {of(image.Package{AlsoChanged: lib, AutoBefore: []string{"lib"}}),
			of(image.Package{Version: "1", AlsoChanged: lib, AutoBefore: []string{"lib"}})},
	} {
		if got := foreseen(of(image.Package{Version: "1", AutoBefore: []string{"now"}}), c.found); !reflect.DeepEqual(got,
			c.want) {
			t.Errorf("%s: %+v, want %+v", name, got.Package(), c.want.Package())
		}
	}
}
