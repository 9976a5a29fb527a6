package source

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"fettle.dev/fettle/internal/lang/functions"
	"fettle.dev/fettle/internal/lang/syntax"
	"fettle.dev/fettle/internal/repo"
)

// fileFunctions returns the functions that read files. They read only the directory of one module.
func fileFunctions(f *Directory) map[string]function.Function {
	return map[string]function.Function{
		"file":         functions.Text(func(p string) (string, error) { return readText(f, p) }),
		"filesha256":   functions.Text(func(p string) (string, error) { return fileDigest(f, p) }),
		"fileexists":   fileExists(f),
		"fileset":      fileSet(f),
		"templatefile": templateFile(f),
		"secret":       secretFunc(f),
	}
}

func readText(f *Directory, p string) (string, error) {
	b, err := f.ReadFile(p)
	switch {
	case err != nil:
		return "", err
	case !utf8.Valid(b):
		return "", fmt.Errorf("%s is not UTF-8 text; to copy a binary file, use source of a file state", f.Source(p))
	}
	return string(b), nil
}

func fileDigest(f *Directory, p string) (string, error) {
	d, _, err := f.Digest(p)
	return strings.TrimPrefix(d, "sha256:"), err
}

func fileExists(f *Directory) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "path", Type: cty.String}},
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			e, err := f.Stat(args[0].AsString())
			if errors.Is(err, fs.ErrNotExist) {
				return cty.False, nil
			}
			return cty.BoolVal(err == nil && e.Type == repo.File), err
		},
	})
}

// fileSet returns the files below a directory that match a pattern. In a pattern, * matches a part
// of one name and ** any number of directories.
func fileSet(f *Directory) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "directory", Type: cty.String}, {Name: "pattern", Type: cty.String}},
		Type:   function.StaticReturnType(cty.Set(cty.String)),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			re, err := globPattern(args[1].AsString())
			if err != nil {
				return cty.NilVal, function.NewArgError(1, err)
			}
			var found []cty.Value
			top := path.Clean(args[0].AsString())
			err = walkFiles(f, top, func(p string) {
				rel := strings.TrimPrefix(strings.TrimPrefix(p, top), "/")
				if top == "." {
					rel = p
				}
				if re.MatchString(rel) {
					found = append(found, cty.StringVal(rel))
				}
			})
			if err != nil || len(found) == 0 {
				return cty.SetValEmpty(cty.String), err
			}
			return cty.SetVal(found), nil
		},
	})
}

func walkFiles(f *Directory, dir string, fn func(string)) error {
	list, err := f.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range list {
		switch e.Type {
		case repo.File:
			fn(e.Path)
		case repo.Dir:
			if err := walkFiles(f, e.Path, fn); err != nil {
				return err
			}
		}
	}
	return nil
}

func globPattern(glob string) (*regexp.Regexp, error) {
	quoted := regexp.QuoteMeta(glob)
	quoted = strings.ReplaceAll(quoted, `\*\*/`, `(.*/)?`)
	quoted = strings.ReplaceAll(quoted, `\*\*`, `.*`)
	quoted = strings.ReplaceAll(quoted, `\*`, `[^/]*`)
	quoted = strings.ReplaceAll(quoted, `\?`, `[^/]`)
	return regexp.Compile("^" + quoted + "$")
}

func templateFile(f *Directory) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "path", Type: cty.String}, {Name: "vars", Type: cty.DynamicPseudoType}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			ty := args[1].Type()
			if !ty.IsObjectType() && !ty.IsMapType() {
				return cty.NilVal, function.NewArgErrorf(1, "the variables must be an object: { name = value }")
			}
			text, ds := f.Template(args[0].AsString(), args[1].AsValueMap())
			if ds.HasErrors() {
				return cty.NilVal, &syntax.TemplateError{List: ds}
			}
			return text, nil
		},
	})
}

// Functions returns the evaluation context of a directory, without variables. It is created once
// for each directory; children share it.
func (p *Program) Functions(f *Directory) *hcl.EvalContext {
	if ctx, ok := p.contexts[f]; ok {
		return ctx
	}
	ctx := p.Pure.NewChild()
	ctx.Functions = fileFunctions(f)
	p.contexts[f] = ctx
	return ctx
}
