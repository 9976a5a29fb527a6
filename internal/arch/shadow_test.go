package arch

import (
	"fmt"
	"go/ast"
	"go/types"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// hidden are the fields that hide another field on purpose, with the reason.
func hidden() map[string]string {
	return map[string]string{
		"internal/fleet: AssignmentJSON.Modules": "JSON has this form instead of the embedded one",
		"internal/fleet: AssignmentJSON.Root":    "JSON has this form instead of the embedded one",
		"internal/fleet: writtenPart.Revision":   "JSON has this form instead of the embedded one",
		"internal/host/mem: Host.mu":             "the file system and the rest of the host have a lock each",
		"test/bench/fleet: bench.out":            "the file that the setting names",
		"test/bench/hosts: bench.hosts":          "the hosts that the setting counts",
		"test/bench/hosts: bench.tools":          "the tools that the setting names",
	}
}

// TestShadowedFields: a struct has no field with the name of a field that it embeds from its own
// package. Otherwise one half of the code sets the one field, and the other half reads the other.
func TestShadowedFields(t *testing.T) {
	for _, p := range loadProject(t) {
		for _, place := range p.shadowedFields() {
			if at, _, _ := strings.Cut(place, " hides"); hidden()[at] == "" {
				t.Error(place)
			}
		}
	}
}

// TestShadowedFieldsAreFound: the law finds such a field, also below two embedded structs.
func TestShadowedFieldsAreFound(t *testing.T) {
	dir := t.TempDir()
	text := "// Package shadow has a shadowed field.\npackage shadow\n\ntype core struct{ verbose bool }\n\ntype part struct{ *core }\n\n" +
		"type whole struct {\n\tpart\n\tverbose bool\n}\n"
	for name, text := range map[string]string{"go.mod": "module " + module + "\n\ngo 1.26\n", "a.go": text} {
		if err := os.WriteFile(path.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var found []string
	for _, p := range load(t, dir) {
		found = append(found, p.shadowedFields()...)
	}
	if len(found) != 1 || !strings.Contains(found[0], "whole.verbose") {
		t.Errorf("found %v", found)
	}
}

// shadowedFields returns the shadowed fields of the structs of a package, sorted.
func (p *pkg) shadowedFields() []string {
	var out []string
	for _, f := range p.files {
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if obj := p.info.Defs[spec.Name]; obj != nil {
				out = append(out, p.shadowedIn(obj)...)
			}
			return true
		})
	}
	slices.Sort(out)
	return out
}

func (p *pkg) shadowedIn(obj types.Object) []string {
	st, ok := obj.Type().Underlying().(*types.Struct)
	if !ok {
		return nil
	}
	var out []string
	for i := range st.NumFields() {
		if f := st.Field(i); f.Embedded() {
			for j := range st.NumFields() {
				if g := st.Field(j); j != i && hasField(f, g.Name(), obj.Pkg()) {
					out = append(out, fmt.Sprintf("%s: %s.%s hides the field of the embedded %s", p.path, obj.Name(), g.Name(),
						f.Name()))
				}
			}
		}
	}
	return out
}

// hasField reports whether an embedded struct of the package has a field with a name, or promotes one.
func hasField(embedded *types.Var, name string, in *types.Package) bool {
	t := embedded.Type()
	if ptr, ok := t.(*types.Pointer); ok {
		t = ptr.Elem()
	}
	named, ok := t.(*types.Named)
	if !ok || named.Obj().Pkg() != in {
		return false
	}
	found, _, _ := types.LookupFieldOrMethod(t, true, in, name)
	v, ok := found.(*types.Var)
	return ok && v.IsField() && !v.Embedded()
}
