package functions

import (
	"errors"
	"regexp"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// mostPatterns is the maximum number of cached regular expressions.
const mostPatterns = 1 << 10

// expression is a regular expression with the type of its match.
type expression struct {
	re  *regexp.Regexp
	typ cty.Type
}

// regexFunc returns the function regex with a cache: each pattern is compiled once, and not at each
// call for each target.
func regexFunc() function.Function {
	known := map[string]expression{}
	compiled := func(pattern cty.Value) (expression, error) {
		got, ok := known[pattern.AsString()]
		if ok {
			return got, nil
		}
		typ, err := stdlib.RegexFunc.ReturnTypeForValues([]cty.Value{pattern, cty.UnknownVal(cty.String)})
		if err != nil {
			return expression{}, err
		}
		got.typ = typ
		if got.re, err = regexp.Compile(pattern.AsString()); err != nil {
			return expression{}, err
		}
		if len(known) >= mostPatterns {
			clear(known)
		}
		known[pattern.AsString()] = got
		return got, nil
	}
	return function.New(&function.Spec{
		Params:       stdlib.RegexFunc.Params(),
		RefineResult: func(b *cty.RefinementBuilder) *cty.RefinementBuilder { return b.NotNull() },
		Type: func(args []cty.Value) (cty.Type, error) {
			if !args[0].IsKnown() {
				return cty.DynamicPseudoType, nil
			}
			got, err := compiled(args[0])
			return got.typ, err
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			got, err := compiled(args[0])
			if err != nil {
				return cty.NilVal, err
			}
			return got.first(args[1].AsString())
		},
	})
}

// first returns the first match: the whole text, or its groups.
func (p expression) first(text string) (cty.Value, error) {
	at := p.re.FindStringSubmatchIndex(text)
	if at == nil {
		return cty.NilVal, errors.New("pattern did not match any part of the given string")
	}
	part := func(i int) cty.Value {
		if at[2*i] < 0 {
			return cty.NullVal(cty.String)
		}
		return cty.StringVal(text[at[2*i]:at[2*i+1]])
	}
	switch {
	case p.typ.IsObjectType():
		out := map[string]cty.Value{}
		for i, name := range p.re.SubexpNames()[1:] {
			out[name] = part(i + 1)
		}
		return cty.ObjectVal(out), nil
	case p.typ.IsTupleType():
		out := make([]cty.Value, p.re.NumSubexp())
		for i := range out {
			out[i] = part(i + 1)
		}
		return cty.TupleVal(out), nil
	}
	return part(0), nil
}
