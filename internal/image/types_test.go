package image_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
)

// names returns readable names of IDs.
type names struct{}

func (names) UserName(uid uint32) string  { return map[uint32]string{0: "root", 4: "kim"}[uid] }
func (names) GroupName(gid uint32) string { return map[uint32]string{0: "root", 5: "staff"}[gid] }

// TestEveryTypeIsListed: the images of a type that the list lacks cannot be read again, and a type without a
// test of its stored form could change it.
func TestEveryTypeIsListed(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found, of := 0, full(t)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\) stored\(\) string +\{ return "(\w+)" \}`).FindAllSubmatch(text, -1) {
			if found++; !of[string(m[1])].Known() {
				t.Errorf("%s: the tests have no image of the type %s", file, m[1])
			}
		}
	}
	if found != len(of) {
		t.Errorf("the package has %d types, and the tests have %d", found, len(of))
	}
}

// TestTypesDiffer: images of different types are never the same, also if both are absent.
func TestTypesDiffer(t *testing.T) {
	for _, images := range []map[string]image.Image{full(t), empty()} {
		for a, one := range images {
			for b, other := range images {
				if one.Same(other) != (a == b) {
					t.Errorf("%s and %s: same is %v", a, b, a != b)
				}
			}
		}
	}
}

// TestOfNil: a nil pointer is an unknown image, whose methods are safe.
func TestOfNil(t *testing.T) {
	i := image.Of[image.File](nil)
	if i.Known() || i.Absent() || i.SealKey() != "" || i.Summary() != "" || i.Exact() || i.File() != nil ||
		i.Differences(image.Of(&image.File{Type: image.Regular}), names{}) != nil || !i.Same(image.Image{}) {
		t.Errorf("an image of nil is %+v", i)
	}
}

// TestFits: an account, package, unit or setting has only images of its own type.
func TestFits(t *testing.T) {
	own := map[addr.Kind]string{addr.KindUser: "user", addr.KindGroup: "group", addr.KindMember: "member",
		addr.KindPkg: "package", addr.KindUnit: "unit", addr.KindSysctl: "sysctl"}
	images := full(t)
	images["unknown"] = image.Image{}
	for _, k := range addr.Kinds() {
		for name, i := range images {
			if want := own[k] == "" || own[k] == name; i.Fits(k) != want {
				t.Errorf("%s %s: fits is %v", k, name, !want)
			}
		}
	}
}

// TestExact: only an image with values that no step can ask for was captured from a host.
func TestExact(t *testing.T) {
	for name, i := range full(t) {
		want := name == "user" || name == "group" || name == "package" || name == "unit"
		if i.Exact() != want {
			t.Errorf("%s: exact is %v", name, !want)
		}
	}
	for name, i := range empty() {
		if i.Exact() != (name == "unit") {
			t.Errorf("empty %s: exact is %v", name, i.Exact())
		}
	}
	if image.Of(&image.Package{Version: image.Candidate}).Exact() || !image.Of(&image.Package{Version: "1"}).Exact() {
		t.Error("a version is exact, and the candidate is not")
	}
}
