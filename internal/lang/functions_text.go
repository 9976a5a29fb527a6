package lang

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/big"
	"net/url"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/front/yamlfront"
	"fettle.dev/fettle/internal/secret"
)

// maxText is the maximum size in bytes of a text that one function makes from small arguments.
const maxText = 16 << 20

// text1 makes a function from one text to another.
func text1(fn func(string) (string, error)) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "text", Type: cty.String}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			s, err := fn(args[0].AsString())
			if err != nil {
				return cty.NilVal, function.NewArgError(0, err)
			}
			return cty.StringVal(s), nil
		},
	})
}

func digestOf(sum func([]byte) []byte) function.Function {
	return text1(func(s string) (string, error) { return hex.EncodeToString(sum([]byte(s))), nil })
}

func encodingFunctions() map[string]function.Function {
	return map[string]function.Function{
		"sha256":       digestOf(func(b []byte) []byte { d := sha256.Sum256(b); return d[:] }),
		"sha512":       digestOf(func(b []byte) []byte { d := sha512.Sum512(b); return d[:] }),
		"sha1":         digestOf(func(b []byte) []byte { d := sha1.Sum(b); return d[:] }),
		"md5":          digestOf(func(b []byte) []byte { d := md5.Sum(b); return d[:] }),
		"base64encode": text1(func(s string) (string, error) { return base64.StdEncoding.EncodeToString([]byte(s)), nil }),
		"base64decode": text1(base64Decode),
		"urlencode":    text1(func(s string) (string, error) { return url.QueryEscape(s), nil }),
		"urldecode":    text1(url.QueryUnescape),
		"jsonencode":   stdlib.JSONEncodeFunc,
		"jsondecode":   guarded(stdlib.JSONDecodeFunc, jsonDepth),
		"csvdecode":    stdlib.CSVDecodeFunc,
		"yamlencode":   yamlEncode(),
		"yamldecode":   yamlDecode(),
	}
}

func pathFunctions() map[string]function.Function {
	return map[string]function.Function{
		"basename": text1(func(s string) (string, error) { return path.Base(s), nil }),
		"dirname":  text1(func(s string) (string, error) { return path.Dir(s), nil }),
	}
}

func base64Decode(s string) (string, error) {
	b, err := base64.StdEncoding.DecodeString(s)
	switch {
	case err != nil:
		return "", fmt.Errorf("the text is not base64: %w", err)
	case !utf8.Valid(b):
		return "", fmt.Errorf("the decoded bytes are not UTF-8 text")
	}
	return string(b), nil
}

// jsonDepth refuses JSON that nests deeper than its reader can take.
func jsonDepth(s string) error {
	depth, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == '[' || c == '{'):
			if depth++; depth > 1000 {
				return fmt.Errorf("the text has more than 1,000 levels of brackets")
			}
		case !quoted && (c == ']' || c == '}'):
			depth--
		}
	}
	return nil
}

// guarded returns f with a check of its first argument.
func guarded(f function.Function, check func(string) error) function.Function {
	return function.New(&function.Spec{
		Params: f.Params(),
		Type: func(args []cty.Value) (cty.Type, error) {
			if args[0].IsKnown() {
				if err := check(args[0].AsString()); err != nil {
					return cty.NilType, function.NewArgError(0, err)
				}
			}
			return f.ReturnTypeForValues(args)
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return f.Call(args) },
	})
}

func yamlEncode() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType, AllowNull: true}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			plain, err := plainValue(args[0])
			if err != nil {
				return cty.NilVal, err
			}
			out, err := yamlfront.Marshal(plain)
			return cty.StringVal(string(out)), err
		},
	})
}

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

func yamlDecode() function.Function {
	decode := func(s string) (cty.Value, error) {
		var plain any
		if err := yamlfront.Unmarshal([]byte(s), &plain); err != nil {
			return cty.NilVal, function.NewArgError(0, fmt.Errorf("the text is not valid YAML: %w", err))
		}
		return fromPlain(plain)
	}
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "text", Type: cty.String}},
		Type: func(args []cty.Value) (cty.Type, error) {
			if !args[0].IsKnown() {
				return cty.DynamicPseudoType, nil
			}
			v, err := decode(args[0].AsString())
			if err != nil {
				return cty.NilType, err
			}
			return v.Type(), nil
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return decode(args[0].AsString()) },
	})
}

func fromPlain(p any) (cty.Value, error) {
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
			if list[i], err = fromPlain(e); err != nil {
				return cty.NilVal, err
			}
		}
		return cty.TupleVal(list), nil
	case map[string]any:
		m := make(map[string]cty.Value, len(v))
		for k, e := range v {
			var err error
			if m[k], err = fromPlain(e); err != nil {
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

func predicate(fn func(s, part string) bool) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "text", Type: cty.String}, {Name: "part", Type: cty.String}},
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			return cty.BoolVal(fn(args[0].AsString(), args[1].AsString())), nil
		},
	})
}

func startsWith() function.Function  { return predicate(strings.HasPrefix) }
func endsWith() function.Function    { return predicate(strings.HasSuffix) }
func strContains() function.Function { return predicate(strings.Contains) }

func repeatFunc() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "text", Type: cty.String}, {Name: "times", Type: cty.Number}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			n, _ := args[1].AsBigFloat().Float64()
			s := args[0].AsString()
			if n < 0 || n*float64(len(s)) > maxText {
				return cty.NilVal, function.NewArgErrorf(1, "the result must be between 0 and 16 MiB long")
			}
			return cty.StringVal(strings.Repeat(s, int(n))), nil
		},
	})
}

// bounded returns f, limited to numbers up to 1,000 as argument i, because a small text could
// otherwise fill the memory.
func bounded(f function.Function, i int) function.Function {
	return function.New(&function.Spec{
		Params: f.Params(), VarParam: f.VarParam(),
		Type: f.ReturnTypeForValues,
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if n, _ := args[i].AsBigFloat().Float64(); n > 1000 || n < -1000 {
				return cty.NilVal, function.NewArgErrorf(i, "it must be between -1,000 and 1,000")
			}
			return f.Call(args)
		},
	})
}

// formatFunc returns the function format. It refuses widths of more than four digits.
func formatFunc(f function.Function) function.Function {
	check := func(s string) error {
		for i := 0; i < len(s); i++ {
			n := 0
			for i+n < len(s) && s[i+n] >= '0' && s[i+n] <= '9' {
				n++
			}
			if n > 4 && strings.Contains(s[:i], "%") {
				return fmt.Errorf("a width has at most four digits")
			}
			i += n
		}
		return nil
	}
	return function.New(&function.Spec{
		Params: f.Params(), VarParam: f.VarParam(),
		Type: func(args []cty.Value) (cty.Type, error) {
			if args[0].Type() == cty.String && args[0].IsKnown() && !args[0].IsNull() {
				if err := check(args[0].AsString()); err != nil {
					return cty.NilType, function.NewArgError(0, err)
				}
			}
			return f.ReturnTypeForValues(args)
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return f.Call(args) },
	})
}

func lengthFunc() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType, AllowDynamicType: true}},
		Type:   function.StaticReturnType(cty.Number),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if args[0].Type() == cty.String {
				return stdlib.Strlen(args[0])
			}
			if args[0].Type().IsObjectType() {
				return cty.NumberIntVal(int64(len(args[0].Type().AttributeTypes()))), nil
			}
			return stdlib.Length(args[0])
		},
	})
}

func sumFunc() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "numbers", Type: cty.DynamicPseudoType}},
		Type:   function.StaticReturnType(cty.Number),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			list, err := convert.Convert(args[0], cty.List(cty.Number))
			if err != nil {
				return cty.NilVal, function.NewArgErrorf(0, "the argument must be a list of numbers")
			}
			total := cty.Zero
			for it := list.ElementIterator(); it.Next(); {
				_, n := it.Element()
				if n.IsNull() {
					return cty.NilVal, function.NewArgErrorf(0, "the list contains null")
				}
				total = total.Add(n)
			}
			return total, nil
		},
	})
}

// show returns a value as JSON for messages, shortened if it is long.
func show(v cty.Value) string {
	if v.ContainsMarked() {
		return secret.Hidden
	}
	b, err := ctyjson.Marshal(v, v.Type())
	if err != nil {
		return v.Type().FriendlyName()
	}
	return string(b)
}
