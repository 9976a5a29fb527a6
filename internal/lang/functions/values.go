package functions

import (
	"fmt"
	"math/big"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/secret"
)

// plainValue converts a value to maps, slices, strings and numbers. Whole numbers stay whole.
func plainValue(v cty.Value) (any, error) {
	switch {
	case v.IsNull():
		return nil, nil
	case v.Type() == cty.String:
		return v.AsString(), nil
	case v.Type() == cty.Bool:
		return v.True(), nil
	case v.Type() == cty.Number:
		if n, acc := v.AsBigFloat().Int64(); acc == big.Exact {
			return n, nil
		}
		f, _ := v.AsBigFloat().Float64()
		return f, nil
	case v.Type().IsMapType() || v.Type().IsObjectType():
		m := map[string]any{}
		for it := v.ElementIterator(); it.Next(); {
			k, e := it.Element()
			p, err := plainValue(e)
			if err != nil {
				return nil, err
			}
			m[k.AsString()] = p
		}
		return m, nil
	case v.CanIterateElements():
		l := []any{}
		for it := v.ElementIterator(); it.Next(); {
			_, e := it.Element()
			p, err := plainValue(e)
			if err != nil {
				return nil, err
			}
			l = append(l, p)
		}
		return l, nil
	}
	return nil, fmt.Errorf("%s cannot be written as YAML", diag.One(v.Type().FriendlyName()))
}

// FromPlain converts maps, slices, strings and numbers, as a YAML reader makes them, to a value.
func FromPlain(p any) (cty.Value, error) {
	switch v := p.(type) {
	case nil:
		return cty.NullVal(cty.DynamicPseudoType), nil
	case string:
		return cty.StringVal(v), nil
	case bool:
		return cty.BoolVal(v), nil
	case int:
		return cty.NumberIntVal(int64(v)), nil
	case []any:
		list := make([]cty.Value, len(v))
		for i, e := range v {
			var err error
			if list[i], err = FromPlain(e); err != nil {
				return cty.NilVal, err
			}
		}
		return cty.TupleVal(list), nil
	case map[string]any:
		m := make(map[string]cty.Value, len(v))
		for k, e := range v {
			var err error
			if m[k], err = FromPlain(e); err != nil {
				return cty.NilVal, err
			}
		}
		return cty.ObjectVal(m), nil
	}
	ty, err := ctyTypeOf(p)
	if err != nil {
		return cty.NilVal, fmt.Errorf("a YAML value of type %T is not supported; write it in quotes to make it a string", p)
	}
	return ty, nil
}

// ctyTypeOf converts the remaining values: other numbers.
func ctyTypeOf(p any) (cty.Value, error) {
	switch v := p.(type) {
	case int64:
		return cty.NumberIntVal(v), nil
	case uint64:
		return cty.NumberUIntVal(v), nil
	case float64:
		if v != v || v > 1e308 || v < -1e308 {
			return cty.NilVal, fmt.Errorf("not a number")
		}
		return cty.NumberFloatVal(v), nil
	}
	return cty.NilVal, fmt.Errorf("unsupported")
}

// Show returns a value as JSON for messages, shortened if it is long.
func Show(v cty.Value) string {
	if v.ContainsMarked() {
		return secret.Hidden
	}
	b, err := ctyjson.Marshal(v, v.Type())
	if err != nil {
		return v.Type().FriendlyName()
	}
	return string(b)
}
