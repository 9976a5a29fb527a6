package route

import (
	"fmt"
	"iter"
	"reflect"
	"strconv"
	"time"

	"fettle.dev/fettle/internal/fleet/document"
)

// Parameter is a parameter of a query.
type Parameter struct {
	Name string
	Does string
	Many bool // may be repeated
	Int  bool
}

// field describes a field of the values of a request. Its tags are path:"NAME" for a value in the
// path, or query:"NAME" and does:"SENTENCE" for a parameter.
type field struct {
	Parameter
	inPath bool
}

// fieldsOf returns the fields of a struct, with a pointer to each.
func fieldsOf(v reflect.Value) iter.Seq2[field, any] {
	return func(yield func(field, any) bool) {
		for i := range v.NumField() {
			pointer := v.Field(i).Addr().Interface()
			if !yield(fieldOf(v.Type().Field(i).Tag, pointer), pointer) {
				return
			}
		}
	}
}

func fieldOf(tag reflect.StructTag, pointer any) field {
	if name, ok := tag.Lookup("path"); ok {
		return field{Parameter{Name: name}, true}
	}
	p := Parameter{Name: tag.Get("query"), Does: tag.Get("does")}
	switch pointer.(type) {
	case *[]string:
		p.Many = true
	case *int, **int64:
		p.Int = true
	}
	return field{p, false}
}

// parameters returns the names of the values in the path, and the parameters in the query.
func parameters(t reflect.Type) (inPath []string, query []Parameter) {
	for f := range fieldsOf(reflect.New(t).Elem()) {
		if f.inPath {
			inPath = append(inPath, f.Name)
		} else {
			query = append(query, f.Parameter)
		}
	}
	return inPath, query
}

// textsOf returns the value of a field as a request has it. The zero value is omitted.
func textsOf(pointer any) []string {
	text := ""
	switch v := pointer.(type) {
	case *string:
		text = *v
	case *[]string:
		return *v
	case *bool:
		if *v {
			text = "true"
		}
	case *int:
		if *v > 0 {
			text = strconv.Itoa(*v)
		}
	case **int64:
		if *v != nil {
			text = strconv.FormatInt(**v, 10)
		}
	case *time.Time:
		if !v.IsZero() {
			text = v.UTC().Format(time.RFC3339)
		}
	}
	if text == "" {
		return nil
	}
	return []string{text}
}

// set sets a field to the value in a request. A missing value and an empty text are the zero value.
func set(pointer any, name string, texts []string) (err error) {
	if list, ok := pointer.(*[]string); ok {
		*list = texts
		return nil
	}
	if len(texts) == 0 || texts[0] == "" {
		return nil
	}
	switch v := pointer.(type) {
	case *string:
		*v = texts[0]
	case *bool:
		*v = texts[0] == "true"
	case *int:
		var n int64
		n, err = number(name, texts[0])
		*v = int(n)
	case **int64:
		*v = new(int64)
		**v, err = number(name, texts[0])
	case *time.Time:
		if *v, err = time.Parse(time.RFC3339, texts[0]); err != nil {
			err = wrong(fmt.Sprintf("cannot read %s=%.40q as a time", name, texts[0]), "Write it as 2026-11-21T20:00:00Z")
		}
	}
	return err
}

func number(name, text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, strconv.IntSize)
	if err != nil || n < 0 {
		return 0, wrong(fmt.Sprintf("cannot read %s=%.40q: it must be a number", name, text), "Omit it, or use a number")
	}
	return n, nil
}

func wrong(detail, hint string) error {
	return &document.Problem{Title: "The query is wrong", Status: 400, Detail: detail, Hint: hint}
}
