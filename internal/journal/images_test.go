package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"testing"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
)

// imagesWith returns images of all types that contain odd.
func imagesWith(odd string) []image.Image {
	return []image.Image{
		image.Of(&image.File{Type: image.Symlink, Target: odd, Entries: []string{odd}}),
		image.Of(&image.File{Type: image.Regular, Xattrs: map[string][]byte{odd: {1}}}),
		image.Of(&image.File{Type: image.Absent}),
		image.Of(&image.File{Type: image.Directory, Mode: 0o755, MTime: 5, Nlink: 2}),
		image.Of(&image.Region{Text: odd, Others: []image.Place{{Text: odd}}, Source: &image.Source{Text: odd,
			Cut: &image.Cut{Behind: &odd}}}),
		image.Of(&image.User{Home: odd, Lines: map[string]string{"passwd": odd}, HomeDir: &image.File{Target: odd}}),
		image.Of(&image.Group{Members: []string{odd}, Lines: map[string]string{odd: odd}}),
		image.Of(&image.Member{Present: true}),
		image.Of(&image.Package{Version: "1", AlsoChanged: map[string]string{odd: odd}}),
		image.Of(&image.Unit{Loaded: true, State: odd}),
		image.Of(&image.Sysctl{Present: true, Value: odd}),
		image.Of(&image.Exec{Known: true, Output: &odd}),
	}
}

// TestImagesInState: a state with images of every type has the bytes of earlier versions, and every byte of
// the images is read again, even if the text is not UTF-8.
func TestImagesInState(t *testing.T) {
	used := map[reflect.Type]bool{}
	for _, i := range imagesWith("") {
		used[reflect.TypeOf(i.Variant)] = true
	}
	for _, v := range image.Types() {
		if !used[reflect.TypeOf(v)] {
			t.Errorf("the state has no image of the type %T: add one at the end, and its digests", v)
		}
	}
	for odd, want := range map[string]string{
		"a\xe9": "39723f459b61cb3bdbd488ec363dff35c96b2416746445c4979d2bad4b60dbb1",
		"<é>":   "ee29f5707675f65a296aa510fd960eb62e0c4b73934b5d288d0e910a16480e2c",
	} {
		st := &State{Format: 1, Run: 1}
		for i, img := range imagesWith(odd) {
			a := addr.File(fmt.Sprintf("/%d", i))
			st.Entries = append(st.Entries, Entry{Addr: a, Step: step.Step{Verb: step.Rm, Args: []string{a.Path()}},
				Run: 1, FirstRun: 1, Origin: &img, Adopted: &img})
		}
		b, err := marshalState(st)
		if sum := sha256.Sum256(b); err != nil || hex.EncodeToString(sum[:]) != want {
			t.Errorf("%q: the digest of the state is %x, want %s:\n%s\n%v", odd, sum, want, b, err)
		}
		var back State
		if err := unmarshalState(b, &back); err != nil || len(back.Entries) != len(st.Entries) {
			t.Fatalf("%q: read %+v, %v", odd, back, err)
		}
		for i, e := range back.Entries {
			if o := st.Entries[i].Origin; !reflect.DeepEqual(e.Origin, o) || !reflect.DeepEqual(e.Adopted, o) {
				t.Errorf("%q: image %d is read as %+v and %+v", odd, i, e.Origin, e.Adopted)
			}
		}
	}
}

// TestImagesInRecords: a record with images of every type has the bytes of earlier versions.
func TestImagesInRecords(t *testing.T) {
	sum := sha256.New()
	for _, img := range append(imagesWith("a\xe9"), image.Image{}) {
		rec := Record{Kind: Intent, Addr: "unit:a", From: &img, To: &img}
		b, err := Marshal(rec)
		var back Record
		if err != nil || Unmarshal(b, &back) != nil || !reflect.DeepEqual(back, rec) {
			t.Errorf("%s is read as %+v, %v", b, back, err)
		}
		sum.Write(b)
	}
	const want = "67f1f51dfd77f347cd141d14b914830aa3c3c19adfc94ef04763b3bea9cbf018"
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		t.Errorf("the digest of the records is %s, want %s", got, want)
	}
}
