package syntax

import (
	"slices"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"fettle.dev/fettle/internal/diag"
)

// Elements returns the keys of a value of for_each, sorted, and their values. Each element makes one of what: a
// state, target or module. ok is false after a diagnostic.
func (r *Reports) Elements(rng diag.Range, v cty.Value, what string) (keys []string, vals []cty.Value, ok bool) {
	ty := v.Type()
	switch {
	case v.IsNull():
		r.Errorf(rng, "Bad for_each", "for_each is null. If there are no elements, use an empty set: toset([]).")
		return nil, nil, false
	case hasObjects(ty):
		r.Errorf(rng, "Bad for_each",
			"for_each must be a set or a map, because each %s needs a unique key. Choose an attribute of the elements as the "+
				"key: { for x in LIST : x.name => x }.", what)
		return nil, nil, false
	case ty.IsListType() || ty.IsTupleType():
		r.Errorf(rng, "Bad for_each",
			"for_each must be a set or a map, because each %s needs a unique key. Write toset(…).", what)
		return nil, nil, false
	case ty.IsSetType():
		return r.elementsOfSet(rng, v)
	case ty.IsMapType() || ty.IsObjectType():
		for it := v.ElementIterator(); it.Next(); {
			k, e := it.Element()
			keys, vals = append(keys, k.AsString()), append(vals, e)
		}
		return keys, vals, true
	}
	r.Errorf(rng, "Bad for_each", "for_each must be a set of strings or a map, and this is %s.",
		diag.One(ty.FriendlyName()))
	return nil, nil, false
}

// hasObjects reports whether a type is a list of objects, such as the rows of a table.
func hasObjects(ty cty.Type) bool {
	isObject := func(e cty.Type) bool { return e.IsObjectType() || e.IsMapType() }
	if ty.IsTupleType() {
		return slices.ContainsFunc(ty.TupleElementTypes(), isObject)
	}
	return ty.IsListType() && isObject(ty.ElementType())
}

func (r *Reports) elementsOfSet(rng diag.Range, v cty.Value) (keys []string, vals []cty.Value, ok bool) {
	set, err := convert.Convert(v, cty.Set(cty.String))
	if err != nil {
		r.Errorf(rng, "Bad for_each", "A set for for_each must contain strings. For other values use a map.")
		return nil, nil, false
	}
	for it := set.ElementIterator(); it.Next(); {
		_, e := it.Element()
		if e.IsNull() {
			r.Errorf(rng, "Bad for_each", "The set contains null. Remove the element.")
			return nil, nil, false
		}
		keys, vals = append(keys, e.AsString()), append(vals, e)
	}
	return keys, vals, true
}
