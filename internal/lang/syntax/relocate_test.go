package syntax

import (
	"reflect"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"fettle.dev/fettle/internal/lang/front/jsonfront"

	"fettle.dev/fettle/internal/lang/front"
)

// rangesOf lists all ranges in an expression, in the order in which they are
// met.
func rangesOf(e hclsyntax.Expression) []hcl.Range {
	var out []hcl.Range
	_ = hclsyntax.VisitAll(e, func(n hclsyntax.Node) hcl.Diagnostics {
		out = append(out, n.Range())
		return nil
	})
	for _, t := range e.Variables() {
		for _, s := range t {
			out = append(out, s.SourceRange())
		}
	}
	return out
}

// A relocated expression has the ranges that the parser would have given it at that place.
func TestRelocation(t *testing.T) {
	for _, text := range []string{
		`${var.x}`, `a ${var.x.y["k"][0].z} b`, `${[for k, v in var.m : "${k}=${v}" if v != null]}`,
		`${{ for k, v in var.m : k => upper(v)... }}`, `${var.list[*].name} ${var.list.*.id}`, `${a ? b : !c + -d * (e - 1)}`,
		`%{ for x in list ~} ${x} %{ endfor }`, `%{ if a }x%{ else }y%{ endif }`, `${f(a...)} ${ { a = 1, (b) = 2 }.a }`,
		`${state.x[each.key].attr}`, `plain`, `$${no} ${"in ${"in"}"}`,
	} {
		for _, lead := range []string{`{"locals": {"a": "`, "{\"locals\":\n\n  {\"a\": \"" + `\u00fc\n\"`} {
			src := lead + strings.ReplaceAll(text, `"`, `\"`) + `"}}`
			doc, err := jsonfront.Parse(front.NewSource("f.json", []byte(src)))
			if err != nil {
				t.Fatal(err)
			}
			n := doc.Pairs[0].Value.Pairs[0].Value
			d := &valueReader{&Reports{}}
			got := d.parse(n, TemplateSyntax)
			if len(d.List) > 0 {
				t.Fatal(d.List)
			}
			plain, _ := hclsyntax.ParseTemplate([]byte(n.Text), "f.json", hcl.InitialPos)
			want := rangesOf(plain)
			at := n.Places()
			for i, r := range want {
				want[i] = toHCL(n.Src.Range(at[r.Start.Byte], at[r.End.Byte]))
			}
			if have := rangesOf(got); !reflect.DeepEqual(have, want) {
				t.Errorf("%s\nhas ranges\n%v\nwant\n%v", src, have, want)
			}
		}
	}
}
