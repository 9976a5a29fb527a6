package image_test

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/image"
)

// full returns one image of each type, with a value in every field.
func full(t *testing.T) map[string]image.Image {
	return map[string]image.Image{
		"file":    image.Of(filled[image.File](t)),
		"region":  image.Of(filled[image.Region](t)),
		"user":    image.Of(filled[image.User](t)),
		"group":   image.Of(filled[image.Group](t)),
		"member":  image.Of(filled[image.Member](t)),
		"package": image.Of(filled[image.Package](t)),
		"unit":    image.Of(filled[image.Unit](t)),
		"sysctl":  image.Of(filled[image.Sysctl](t)),
		"exec":    image.Of(filled[image.Exec](t)),
	}
}

// empty returns one image of each type, without a value in any field.
func empty() map[string]image.Image {
	return map[string]image.Image{
		"file":    image.Of(&image.File{}),
		"region":  image.Of(&image.Region{}),
		"user":    image.Of(&image.User{}),
		"group":   image.Of(&image.Group{}),
		"member":  image.Of(&image.Member{}),
		"package": image.Of(&image.Package{}),
		"unit":    image.Of(&image.Unit{}),
		"sysctl":  image.Of(&image.Sysctl{}),
		"exec":    image.Of(&image.Exec{}),
		"unknown": {},
	}
}

// stored reads a file with one stored image per line.
func stored(t *testing.T, file string) map[string]string {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, form, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		out[name] = form
	}
	return out
}

// TestStoredForm: journals and plans of earlier versions contain these bytes, so no change of the code
// may change them.
func TestStoredForm(t *testing.T) {
	for file, images := range map[string]map[string]image.Image{
		"testdata/full.txt": full(t), "testdata/empty.txt": empty(),
	} {
		want := stored(t, file)
		if len(want) != len(images) {
			t.Errorf("%s has %d images, want %d", file, len(want), len(images))
		}
		for name, img := range images {
			if got, err := json.Marshal(img); err != nil || string(got) != want[name] {
				t.Errorf("%s: %s is stored as\n%s\nwant\n%s\n%v", file, name, got, want[name], err)
			}
			var back image.Image
			if err := json.Unmarshal([]byte(want[name]), &back); err != nil || !reflect.DeepEqual(back, recorded(img)) {
				t.Errorf("%s: %s is read as %+v, %v", file, name, back, err)
			}
		}
	}
}

// TestStoredInside: an image that is a part of another value has the same bytes, and none is left out.
func TestStoredInside(t *testing.T) {
	type record struct {
		Image *image.Image `json:"image,omitempty"`
	}
	for name, img := range full(t) {
		want := `{"image":` + stored(t, "testdata/full.txt")[name] + `}`
		if got, err := json.Marshal(record{&img}); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v; want %s", name, got, err, want)
		}
	}
	for want, r := range map[string]record{`{}`: {}, `{"image":{}}`: {&image.Image{}}} {
		if got, err := json.Marshal(r); err != nil || string(got) != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
		var back record
		if err := json.Unmarshal([]byte(want), &back); err != nil || !reflect.DeepEqual(back, r) {
			t.Errorf("%s is read as %+v, %v", want, back, err)
		}
	}
}

// TestReadOtherForms: a null is as good as nothing, and the properties of a newer version are ignored.
func TestReadOtherForms(t *testing.T) {
	member := image.Of(&image.Member{Present: true})
	for text, want := range map[string]image.Image{
		`null`: {}, `{"file":null}`: {}, `{"file": null }`: {}, `{"later":{"x":1}}`: {}, `{}`: {},
		` { "member" : {"present":true} } `:       member,
		`{"member":{"present":true,"later":"x"}}`: member,
		`{"later":1,"member":{"present":true}}`:   member,
		`{"member":{"present":true},"later":[1]}`: member,
		`{"user":null,"member":{"present":true}}`: member,
	} {
		var got image.Image
		if err := json.Unmarshal([]byte(text), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is read as %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{`[]`, `1`, `{"member":1}`, `{"file":{"mode":-1}}`, `{"member":{}`,
		`{"member":{},"file":{"type":"file"}}`} {
		if err := json.Unmarshal([]byte(text), new(image.Image)); err == nil {
			t.Errorf("%s is read without an error", text)
		}
	}
}

// TestStoredEscapes: the encoder around an image decides whether HTML is escaped.
func TestStoredEscapes(t *testing.T) {
	i := image.Of(&image.Sysctl{Value: "<&>"})
	for escape, want := range map[bool]string{
		true:  `{"sysctl":{"present":false,"value":"\u003c\u0026\u003e"}}` + "\n",
		false: `{"sysctl":{"present":false,"value":"<&>"}}` + "\n",
	} {
		var b strings.Builder
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(escape)
		if err := e.Encode(i); err != nil || b.String() != want {
			t.Errorf("escape %v: %s, %v; want %s", escape, b.String(), err, want)
		}
	}
}
