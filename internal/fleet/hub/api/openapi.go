package api

import (
	"encoding/json"
	"path"
	"reflect"
	"strings"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// OpenAPI returns the table as an OpenAPI 3.1 document with JSON Schema 2020-12. It is derived from
// the routes and the Go types.
func OpenAPI() map[string]any {
	w := schemas{defs: map[string]any{}, types: map[string]reflect.Type{}}
	paths := map[string]any{}
	for _, r := range route.All() {
		at, ok := paths[r.Path].(map[string]any)
		if !ok {
			at = map[string]any{}
			paths[r.Path] = at
		}
		at[strings.ToLower(r.Method)] = w.operation(r)
	}
	w.of(reflect.TypeFor[document.Problem]())
	return map[string]any{
		"openapi": "3.1.0",
		"info": map[string]any{
			"title": "The API of a fettle hub", "version": "1",
			"description": "Each operation needs a right, which x-right names. Within a version fields are only added.",
		},
		"jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
		"security":          []any{map[string]any{"token": []any{}}, map[string]any{"certificate": []any{}}},
		"paths":             paths,
		"components": map[string]any{
			"schemas": w.defs,
			"securitySchemes": map[string]any{
				"token":       map[string]any{"type": "http", "scheme": "bearer"},
				"certificate": map[string]any{"type": "mutualTLS"},
			},
		},
	}
}

// schemas collects the schemas of the types that it encounters.
type schemas struct {
	defs  map[string]any
	types map[string]reflect.Type // by the name of their schema
}

func (w schemas) operation(r route.Row) map[string]any {
	op := map[string]any{
		"summary": r.Does, "operationId": strings.ToLower(r.Method) + strings.NewReplacer("/", "-", "{", "", "}", "", ".",
			"-").Replace(r.Path), "x-right": string(r.Right),
		"responses": map[string]any{
			"200": w.answer(r),
			"default": map[string]any{"description": "The reason of the failure",
				"content": map[string]any{"application/problem+json": map[string]any{"schema": w.of(
					reflect.TypeFor[document.Problem]())}}},
		},
	}
	if r.Upgrade {
		op["responses"].(map[string]any)["101"] = map[string]any{"description": "The connection is a stream of the protocol " + document.ExecutorProtocol}
		delete(op["responses"].(map[string]any), "200")
	}
	if r.Right == route.Open {
		op["security"] = []any{}
	}
	if params := parameters(r); len(params) > 0 {
		op["parameters"] = params
	}
	if r.In != nil {
		op["requestBody"] = map[string]any{"required": true,
			"content": map[string]any{"application/json": map[string]any{"schema": w.of(reflect.TypeOf(r.In))}}}
	}
	return op
}

func (w schemas) answer(r route.Row) map[string]any {
	content := map[string]any{}
	switch {
	case r.Upgrade: // no document in the answer
	case r.Plain:
		content["text/plain"] = map[string]any{"schema": map[string]any{"type": "string"}}
	case r.Stream:
		schema := map[string]any{"schema": w.of(reflect.TypeOf(r.Out))}
		content["application/jsonl"], content["text/event-stream"] = schema, schema
	default:
		content["application/json"] = map[string]any{"schema": w.of(reflect.TypeOf(r.Out))}
	}
	return map[string]any{"description": r.Does, "content": content}
}

func parameters(r route.Row) []any {
	var out []any
	for _, name := range r.InPath {
		out = append(out, map[string]any{"name": name, "in": "path", "required": true,
			"schema": map[string]any{"type": "string"}})
	}
	for _, p := range r.Query {
		schema := map[string]any{"type": "string"}
		if p.Int {
			schema = map[string]any{"type": "integer", "minimum": 0}
		}
		if p.Many {
			schema = map[string]any{"type": "array", "items": schema}
		}
		out = append(out, map[string]any{"name": p.Name, "in": "query", "description": p.Does, "schema": schema})
	}
	return out
}

// words returns the possible values of an enumeration, or nil for other types.
func words(t reflect.Type) []any {
	var out []any
	switch t {
	case reflect.TypeFor[document.State]():
		for _, s := range document.States() {
			out = append(out, string(s))
		}
	case reflect.TypeFor[fleet.Standing]():
		for _, s := range []fleet.Standing{fleet.Pending, fleet.Active, fleet.Retired, fleet.Revoked} {
			out = append(out, string(s))
		}
	}
	return out
}

// of returns the schema of a type. A struct is defined once and referenced by its name.
func (w schemas) of(t reflect.Type) map[string]any {
	if t == reflect.TypeFor[json.RawMessage]() {
		return map[string]any{}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return w.of(t.Elem())
	case reflect.Struct:
		name := w.name(t)
		if _, ok := w.defs[name]; !ok {
			w.defs[name] = nil // a type can contain itself
			w.defs[name] = w.object(t)
		}
		return map[string]any{"$ref": "#/components/schemas/" + name}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": w.of(t.Elem())}
	case reflect.Map:
		out := map[string]any{"type": "object", "additionalProperties": w.of(t.Elem())}
		if names := words(t.Key()); names != nil {
			out["propertyNames"] = map[string]any{"enum": names}
		}
		return out
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.String:
		if names := words(t); names != nil {
			return map[string]any{"type": "string", "enum": names}
		}
		return map[string]any{"type": "string"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Interface:
		return map[string]any{}
	}
	return map[string]any{"type": "integer"}
}

// name returns the name of the schema of a struct. Of two types with the same name, the second one has the name of its
// package in front.
func (w schemas) name(t reflect.Type) string {
	name := t.Name()
	if first, ok := w.types[name]; ok && first != t {
		of := path.Base(t.PkgPath())
		name = strings.ToUpper(of[:1]) + of[1:] + name
	}
	w.types[name] = t
	return name
}

func (w schemas) object(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []any{}
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		properties[name] = w.of(f.Type)
		if !strings.Contains(options, "omitempty") {
			required = append(required, name)
		}
	}
	out := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}
