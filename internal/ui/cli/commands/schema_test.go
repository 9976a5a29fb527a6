package commands_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// schemaFile is where the schema of a format lies: fettle.plan/1 is in
// fettle.plan-1.json.
func schemaFile(dir, format string) string {
	return filepath.Join(dir, strings.ReplaceAll(format, "/", "-")+".json")
}

// checkSchema holds a document to the schema that its format names.
func checkSchema(dir string, doc any) error {
	object, _ := doc.(map[string]any)
	format, _ := object["format"].(string)
	if format == "" {
		return fmt.Errorf("the document has no format")
	}
	text, err := os.ReadFile(schemaFile(dir, format))
	if err != nil {
		return err
	}
	var schema map[string]any
	if err := json.Unmarshal(text, &schema); err != nil {
		return fmt.Errorf("schema of %s: %w", format, err)
	}
	v := validator{root: schema}
	v.check("$", schema, doc)
	if len(v.faults) > 0 {
		return fmt.Errorf("%s: %s", format, strings.Join(v.faults, "; "))
	}
	return nil
}

// validator knows the part of JSON Schema 2020-12 that our schemas use. A
// keyword that it does not know is a fault: nothing is held by half.
type validator struct {
	root   map[string]any
	faults []string
}

func (v *validator) fault(at, format string, args ...any) {
	v.faults = append(v.faults, at+": "+fmt.Sprintf(format, args...))
}

func (v *validator) check(at string, schema map[string]any, doc any) {
	for keyword, rule := range schema {
		switch keyword {
		case "$schema", "$id", "$defs", "title", "description":
		case "$ref":
			v.ref(at, rule.(string), doc)
		case "type":
			if !isType(rule.(string), doc) {
				v.fault(at, "%v is not of type %s", doc, rule)
			}
		case "const":
			if rule != doc {
				v.fault(at, "%v is not %v", doc, rule)
			}
		case "enum":
			if !slices.Contains(rule.([]any), doc) {
				v.fault(at, "%v is none of %v", doc, rule)
			}
		case "required":
			v.required(at, rule.([]any), doc)
		case "properties", "additionalProperties":
			v.object(at, schema, doc)
		case "items":
			for i, item := range asArray(doc) {
				v.check(fmt.Sprintf("%s[%d]", at, i), rule.(map[string]any), item)
			}
		default:
			v.fault(at, "the validator does not know the keyword %q", keyword)
		}
	}
}

func (v *validator) ref(at, ref string, doc any) {
	name, ok := strings.CutPrefix(ref, "#/$defs/")
	defs, _ := v.root["$defs"].(map[string]any)
	schema, found := defs[name].(map[string]any)
	if !ok || !found {
		v.fault(at, "no definition %q", ref)
		return
	}
	v.check(at, schema, doc)
}

func (v *validator) required(at string, names []any, doc any) {
	object, _ := doc.(map[string]any)
	for _, n := range names {
		if _, ok := object[n.(string)]; !ok {
			v.fault(at, "%s is missing", n)
		}
	}
}

func (v *validator) object(at string, schema map[string]any, doc any) {
	object, ok := doc.(map[string]any)
	if !ok {
		return
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, value := range object {
		if p, ok := properties[name].(map[string]any); ok {
			v.check(at+"."+name, p, value)
			continue
		}
		switch more := schema["additionalProperties"].(type) {
		case bool:
			if !more {
				v.fault(at, "%s is not in the schema: after a change of a document, run TestSchemas with -update", name)
			}
		case map[string]any:
			v.check(at+"."+name, more, value)
		}
	}
}

func asArray(doc any) []any {
	a, _ := doc.([]any)
	return a
}

func isType(name string, doc any) bool {
	switch name {
	case "object":
		_, ok := doc.(map[string]any)
		return ok
	case "array":
		_, ok := doc.([]any)
		return ok
	case "string":
		_, ok := doc.(string)
		return ok
	case "boolean":
		_, ok := doc.(bool)
		return ok
	case "integer":
		n, ok := doc.(float64)
		return ok && n == float64(int64(n))
	case "number":
		_, ok := doc.(float64)
		return ok
	}
	return false
}

// TestValidatorFails shows that the validator can say no.
func TestValidatorFails(t *testing.T) {
	schema := map[string]any{
		"type": "object", "additionalProperties": false, "required": []any{"a"},
		"properties": map[string]any{"a": map[string]any{"type": "integer"},
			"b": map[string]any{"type": "array", "items": map[string]any{"const": "x"}}, "n": map[string]any{"type": "number"}},
	}
	for doc, want := range map[string]string{
		`{"a":1,"b":["x"]}`: "",
		`{}`:                "a is missing",
		`{"a":1,"n":1.5}`:   "",
		`{"a":1,"n":"1.5"}`: "not of type number",
		`{"a":"1"}`:         "not of type integer",
		`{"a":1.5}`:         "not of type integer",
		`{"a":1,"c":2}`:     "c is not in the schema: after a change of a document, run TestSchemas with -update",
		`{"a":1,"b":["y"]}`: "y is not x",
		`[]`:                "not of type object",
	} {
		var v any
		if err := json.Unmarshal([]byte(doc), &v); err != nil {
			t.Fatal(err)
		}
		check := validator{root: schema}
		check.check("$", schema, v)
		got := strings.Join(check.faults, "; ")
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", doc, got, want)
		}
	}
}
