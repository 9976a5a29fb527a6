package arch

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/types"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const errorIndex = "../../docs/errors.md"

// TestErrorIndex compares docs/errors.md with the configuration errors in the source. -update
// writes the page.
func TestErrorIndex(t *testing.T) {
	found := map[string]string{}
	for _, p := range loadProject(t) {
		for _, f := range p.files {
			ast.Inspect(f, func(n ast.Node) bool {
				if summary, detail, ok := p.diagnostic(n); ok {
					found[summary] = max(found[summary], detail)
				}
				return true
			})
		}
	}
	want := errorPage(found)
	if *update {
		if err := os.WriteFile(errorIndex, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(errorIndex); err != nil || string(have) != want {
		t.Errorf("docs/errors.md is not the list of the errors in the source (%v). Run: go test ./internal/arch -run TestErrorIndex -update",
			err)
	}
}

// diagnostic returns the constant texts of a call of a function with the parameters summary and detail.
func (p *pkg) diagnostic(n ast.Node) (summary, detail string, ok bool) {
	call, isCall := n.(*ast.CallExpr)
	if !isCall {
		return "", "", false
	}
	is, isFunc := p.info.TypeOf(call.Fun).(*types.Signature)
	if !isFunc {
		return "", "", false
	}
	for i := range is.Params().Len() - 1 {
		if is.Params().At(i).Name() == "summary" && is.Params().At(i+1).Name() == "detail" && i+1 < len(call.Args) {
			summary, detail = p.text(call.Args[i]), p.text(call.Args[i+1])
			return summary, detail, summary != ""
		}
	}
	return "", "", false
}

// text returns the value of a constant text, or "".
func (p *pkg) text(e ast.Expr) string {
	if v := p.info.Types[e].Value; v != nil && v.Kind() == constant.String {
		return constant.StringVal(v)
	}
	return ""
}

var formatVerb = regexp.MustCompile(`%[-+#0-9.]*[a-z]`)

func errorPage(found map[string]string) string {
	var b strings.Builder
	b.WriteString("# Configuration errors\n\nThe errors in a repository or a step file, by their first line. fettle prints each with its position, its source line\n" +
		"and a remedy; `…` replaces values. A test writes this page from the source. For other messages see\n" +
		"[troubleshooting](troubleshooting.md); for exit codes see [operations](operations.md#exit-codes).\n\n| error | text |\n|---|---|\n")
	for _, summary := range slices.Sorted(maps.Keys(found)) {
		detail := strings.NewReplacer("`", "'", "|", "\\|", "\n",
			" ").Replace(strings.TrimSpace(formatVerb.ReplaceAllString(found[summary], "…")))
		detail = strings.ReplaceAll(detail, "\"…\"", "…")
		if strings.Trim(detail, "…. ") == "" {
			detail = "the reason" // the whole text is a value
		}
		fmt.Fprintf(&b, "| `%s` | `%s` |\n", summary, detail)
	}
	return b.String()
}

// TestErrorPage: values become an ellipsis, and nothing of a text ends its cell.
func TestErrorPage(t *testing.T) {
	page := errorPage(map[string]string{"Bad value": "%q is `a` | b, in %d.\nSay c."})
	if want := "| `Bad value` | `… is 'a' \\| b, in …. Say c.` |\n"; !strings.HasSuffix(page, want) {
		t.Errorf("the page ends with\n%s, want\n%s", page, want)
	}
}
