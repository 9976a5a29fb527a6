package kind

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/repo"
)

// Inline creates a blob from text.
func Inline(text string) Blob {
	sum := sha256.Sum256([]byte(text))
	return Blob{Digest: "sha256:" + hex.EncodeToString(sum[:]), Size: int64(len(text)), Data: []byte(text)}
}

// wholeTree is an optional ability of Files: return the tree of the repository.
type wholeTree interface {
	Whole(p string) (repo.Tree, string)
}

// FileBlob creates a blob from a file of the module. It computes the digest and does not load the
// content.
func (s State) FileBlob(p string) (Blob, error) {
	digest, size, err := s.Files.Digest(p)
	b := Blob{Digest: digest, Size: size, Tree: s.Files, Path: p}
	if w, ok := s.Files.(wholeTree); ok {
		b.Tree, b.Path = w.Whole(p)
	}
	return b, err
}

// Vars returns the variables for templates from an attribute; null gives no variables.
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

// Render renders a template of the module. The diagnostic of an error in it shows the place in the
// template and the attribute that names it. The text has the marks of its secrets.
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
