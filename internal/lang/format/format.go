// Package format gives the canonical form of files of the language.
//
//	text, ds := format.Source(src, "web.hcl")
//
// It is not part of lang/syntax because its dependencies slow down each start of a program that only
// reads files.
package format

import (
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/syntax"
)

// Source returns the canonical form of a file of the language. A text that does not parse is
// returned unchanged and reported. Source is idempotent.
func Source(src []byte, file string) ([]byte, diag.List) {
	if !utf8.Valid(src) {
		return src, diag.List{diag.Errorf(diag.Range{File: file}, "File is not text",
			"Configuration files must be UTF-8. Save the file as UTF-8.")}
	}
	if ds := syntax.Guard(src, file, syntax.ConfigSyntax); ds.HasErrors() {
		return src, ds
	}
	if _, hds := hclsyntax.ParseConfig(src, file, hcl.InitialPos); hds.HasErrors() {
		ds := syntax.FromHCL(hds)
		for i := range ds {
			ds[i] = ds[i].WithLine(src)
		}
		return src, ds
	}
	return hclwrite.Format(src), nil
}
