// Package functions has the functions of the language that read no file.
//
//	v, err := functions.Pure()["upper"].Call([]cty.Value{cty.StringVal("a")})
//
// They have no clock, randomness or environment. A small argument cannot make a large result.
package functions

import (
	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// Pure returns the functions that read no file. They have no clock, randomness or
// environment, so their results are the same everywhere.
func Pure() map[string]function.Function {
	f := map[string]function.Function{
		"try": tryfunc.TryFunc, "can": tryfunc.CanFunc,
		"tostring": conversion(cty.String), "tonumber": conversion(cty.Number), "tobool": conversion(cty.Bool),
		"tolist": conversion(cty.List(cty.DynamicPseudoType)), "toset": conversion(cty.Set(cty.DynamicPseudoType)),
		"tomap": conversion(cty.Map(cty.DynamicPseudoType)),
	}
	for name, fn := range stringFunctions() {
		f[name] = fn
	}
	for name, fn := range collectionFunctions() {
		f[name] = fn
	}
	for name, fn := range encodingFunctions() {
		f[name] = fn
	}
	for name, fn := range pathFunctions() {
		f[name] = fn
	}
	return f
}

func stringFunctions() map[string]function.Function {
	return map[string]function.Function{
		"upper": stdlib.UpperFunc, "lower": stdlib.LowerFunc, "title": stdlib.TitleFunc, "strlen": stdlib.StrlenFunc,
		"substr": stdlib.SubstrFunc, "join": stdlib.JoinFunc, "split": stdlib.SplitFunc, "chomp": stdlib.ChompFunc,
		"indent": bounded(stdlib.IndentFunc, 0), "trim": stdlib.TrimFunc, "trimspace": stdlib.TrimSpaceFunc,
		"trimprefix": stdlib.TrimPrefixFunc, "trimsuffix": stdlib.TrimSuffixFunc,
		"replace": stdlib.ReplaceFunc, "regex": regexFunc(), "regexall": stdlib.RegexAllFunc,
		"regexreplace": stdlib.RegexReplaceFunc,
		"format":       formatFunc(stdlib.FormatFunc), "formatlist": formatFunc(stdlib.FormatListFunc),
		"startswith": startsWith(), "endswith": endsWith(), "strcontains": strContains(), "repeat": repeatFunc(),
		"abs": stdlib.AbsoluteFunc, "ceil": stdlib.CeilFunc, "floor": stdlib.FloorFunc, "log": Finite(stdlib.LogFunc),
		"max": stdlib.MaxFunc, "min": stdlib.MinFunc, "pow": bounded(stdlib.PowFunc, 1), "signum": stdlib.SignumFunc,
		"parseint": stdlib.ParseIntFunc, "sum": sumFunc(),
	}
}

func collectionFunctions() map[string]function.Function {
	return map[string]function.Function{
		"length": lengthFunc(), "keys": stdlib.KeysFunc, "values": stdlib.ValuesFunc, "lookup": stdlib.LookupFunc,
		"merge": stdlib.MergeFunc, "concat": stdlib.ConcatFunc, "flatten": stdlib.FlattenFunc,
		"distinct": stdlib.DistinctFunc,
		"contains": stdlib.ContainsFunc, "element": stdlib.ElementFunc, "index": stdlib.IndexFunc, "slice": stdlib.SliceFunc,
		"sort": stdlib.SortFunc, "reverse": stdlib.ReverseListFunc, "range": rangeFunc(), "zipmap": stdlib.ZipmapFunc,
		"coalesce": stdlib.CoalesceFunc, "coalescelist": stdlib.CoalesceListFunc, "compact": stdlib.CompactFunc,
		"chunklist": stdlib.ChunklistFunc, "setunion": stdlib.SetUnionFunc, "setintersection": stdlib.SetIntersectionFunc,
		"setsubtract": stdlib.SetSubtractFunc, "setproduct": stdlib.SetProductFunc,
	}
}

// conversion makes a function that converts its argument to a type.
func conversion(want cty.Type) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType, AllowNull: true, AllowDynamicType: true}},
		Type: func(args []cty.Value) (cty.Type, error) {
			v, err := convert.Convert(uniform(args[0], want), want)
			if err != nil {
				return cty.NilType, function.NewArgError(0, err)
			}
			return v.Type(), nil
		},
		Impl: func(args []cty.Value, ret cty.Type) (cty.Value, error) {
			return convert.Convert(uniform(args[0], want), ret)
		},
	})
}

// uniform returns a tuple of elements of one type as a list, if a list or set is made of it. The library compares the
// type of each element of a tuple with all others, which takes long for thousands of elements.
func uniform(v cty.Value, want cty.Type) cty.Value {
	if !v.Type().IsTupleType() || v.IsNull() || !v.IsKnown() || !want.IsListType() && !want.IsSetType() {
		return v
	}
	types := v.Type().TupleElementTypes()
	for _, t := range types {
		if t.HasDynamicTypes() || !t.Equals(types[0]) {
			return v
		}
	}
	if len(types) == 0 {
		return v
	}
	return cty.ListVal(v.AsValueSlice())
}
