package functions

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"fettle.dev/fettle/internal/lang/front/yamlfront"
)

func digestOf(sum func([]byte) []byte) function.Function {
	return Text(func(s string) (string, error) { return hex.EncodeToString(sum([]byte(s))), nil })
}

func encodingFunctions() map[string]function.Function {
	return map[string]function.Function{
		"sha256":       digestOf(func(b []byte) []byte { d := sha256.Sum256(b); return d[:] }),
		"sha512":       digestOf(func(b []byte) []byte { d := sha512.Sum512(b); return d[:] }),
		"sha1":         digestOf(func(b []byte) []byte { d := sha1.Sum(b); return d[:] }),
		"md5":          digestOf(func(b []byte) []byte { d := md5.Sum(b); return d[:] }),
		"base64encode": Text(func(s string) (string, error) { return base64.StdEncoding.EncodeToString([]byte(s)), nil }),
		"base64decode": Text(base64Decode),
		"urlencode":    Text(func(s string) (string, error) { return url.QueryEscape(s), nil }),
		"urldecode":    Text(url.QueryUnescape),
		"jsonencode":   stdlib.JSONEncodeFunc,
		"jsondecode":   guarded(stdlib.JSONDecodeFunc, CheckDepth),
		"csvdecode":    stdlib.CSVDecodeFunc,
		"yamlencode":   yamlEncode(),
		"yamldecode":   yamlDecode(),
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

// CheckDepth refuses JSON that nests deeper than its reader can take.
func CheckDepth(s string) error {
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

func yamlDecode() function.Function {
	decode := func(s string) (cty.Value, error) {
		var plain any
		if err := yamlfront.Unmarshal([]byte(s), &plain); err != nil {
			return cty.NilVal, function.NewArgError(0, fmt.Errorf("the text is not valid YAML: %w", err))
		}
		return FromPlain(plain)
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
