//go:build !target

package syntax

import (
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"

	"fettle.dev/fettle/internal/diag"
)

// Format returns the canonical form of a file of the language. A text that does not parse is
// returned unchanged and reported. Format is idempotent.
func Format(src []byte, file string) ([]byte, diag.List) {
	if !utf8.Valid(src) {
		return src, diag.List{diag.Errorf(diag.Range{File: file}, "File is not text",
			"Configuration files must be UTF-8. Save the file as UTF-8.")}
	}
	if ds := Guard(src, file, ConfigSyntax); ds.HasErrors() {
		return src, ds
	}
	if _, hds := hclsyntax.ParseConfig(src, file, hcl.InitialPos); hds.HasErrors() {
		ds := FromHCL(hds)
		for i := range ds {
			ds[i] = ds[i].WithLine(src)
		}
		return src, ds
	}
	return hclwrite.Format(src), nil
}
