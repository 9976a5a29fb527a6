package functions_test

import (
	"testing"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"fettle.dev/fettle/internal/lang/functions"
)

// tolist and toset have the same results as the library's conversion.
func TestConversionsOfTuples(t *testing.T) {
	a, b, n := cty.StringVal("a"), cty.StringVal("b"), cty.NumberIntVal(1)
	for _, list := range [][]cty.Value{{}, {a}, {b, a, b}, {a, n}, {n, n}, {cty.NullVal(cty.String), a},
		{cty.NullVal(cty.DynamicPseudoType), a}, {cty.UnknownVal(cty.String), a}, {cty.DynamicVal, a},
		{cty.TupleVal([]cty.Value{a}), cty.TupleVal([]cty.Value{b})},
		{cty.TupleVal([]cty.Value{a}), cty.TupleVal([]cty.Value{n})},
		{cty.ObjectVal(map[string]cty.Value{"x": a}), cty.ObjectVal(map[string]cty.Value{"x": b})}} {
		for name, want := range map[string]cty.Type{"tolist": cty.List(cty.DynamicPseudoType),
			"toset": cty.Set(cty.DynamicPseudoType)} {
			got, gotErr := functions.Pure()[name].Call([]cty.Value{cty.TupleVal(list)})
			expected, wantErr := convert.Convert(cty.TupleVal(list), want)
			if (gotErr == nil) != (wantErr == nil) || gotErr == nil && !got.RawEquals(expected) {
				t.Errorf("%s(%#v): %#v %v, not %#v %v", name, list, got, gotErr, expected, wantErr)
			}
		}
	}
}
