package kind

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/repo"
)

// Inline makes a blob of text.
func Inline(text string) Blob {
	sum := sha256.Sum256([]byte(text))
	return Blob{Digest: "sha256:" + hex.EncodeToString(sum[:]), Size: int64(len(text)), Data: []byte(text)}
}

// wholeTree is what a module's Files may be able to: name the repository's own
// tree behind it.
type wholeTree interface {
	Whole(p string) (repo.Tree, string)
}

// FileBlob makes a blob of a file of the module, which is not read now but for
// its digest.
func (s State) FileBlob(p string) (Blob, error) {
	digest, size, err := s.Files.Digest(p)
	b := Blob{Digest: digest, Size: size, Tree: s.Files, Path: p}
	if w, ok := s.Files.(wholeTree); ok {
		b.Tree, b.Path = w.Whole(p)
	}
	return b, err
}

// Vars are the variables that an attribute gives to templates, none when it is
// null.
func (s State) Vars(attr string) (map[string]cty.Value, diag.List) {
	if !s.Given(attr) {
		return map[string]cty.Value{}, nil
	}
	v := s.Attrs[attr]
	if !v.Type().IsObjectType() && !v.Type().IsMapType() {
		return nil, s.Errorf(attr, "Wrong type", "%s is an object: %s = { name = value }.", attr, attr)
	}
	return Elements(v), nil
}

// Render renders a template of the module. A mistake in it is shown there, and
// leads back to the attribute that names it. The text has the marks of the
// secrets in it.
func (s State) Render(path, attr string, vars map[string]cty.Value) (cty.Value, diag.List) {
	text, ds := s.Files.Template(path, vars)
	for i := range ds {
		if ds[i].Range.File == "" {
			ds[i].Range = s.AttrRange(attr)
			continue
		}
		ds[i].Trace = append(ds[i].Trace, s.AttrRange(attr))
	}
	return text, ds
}
