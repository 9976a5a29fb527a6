package schema

import (
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/kind"
)

// computed matches a string that contains an expression or a directive.
const computed = `[$%]\{`

// attribute returns the schema of an attribute's source form. null means no value, so it is valid
// for optional attributes.
func attribute(a kind.Attr) object {
	s := written(a)
	if s == nil {
		s = value(a.Type, a.OneOf, !a.Required)
	}
	if a.Doc != "" {
		s["description"] = a.Doc
	}
	if a.Default != cty.NilVal && !a.Default.IsNull() && a.Default.IsKnown() {
		switch a.Default.Type() {
		case cty.String:
			s["default"] = a.Default.AsString()
		case cty.Bool:
			s["default"] = a.Default.True()
		}
	}
	return s
}

// written returns the schema of the types above; nil for others.
func written(a kind.Attr) object {
	switch a.Type {
	case plain:
		s := object{"type": "string"}
		if len(a.OneOf) > 0 {
			s["enum"] = a.OneOf
		}
		return s
	case mapping:
		s := object{"type": "object"}
		if len(a.OneOf) > 0 {
			s["additionalProperties"] = object{"type": "string", "anyOf": []object{{"enum": a.OneOf}, {"pattern": computed}}}
		}
		return s
	case madeMapping:
		return object{"type": []string{"object", "string"}, "pattern": computed}
	case sequence:
		return object{"type": "array", "items": object{"type": "string"}}
	case madeSequence:
		return object{"type": []string{"array", "string"}, "items": object{"type": "string"}, "pattern": computed}
	case reference:
		return object{"$ref": "#/$defs/references"}
	case nameOrList:
		return object{"type": []string{"string", "array", "null"}, "items": object{"type": "string"}}
	case expression:
		return object{"type": []string{"string", "object"}}
	case condition:
		return object{"type": []string{"string", "boolean"}}
	case listen:
		byAction := object{}
		for _, n := range a.OneOf {
			byAction[n] = object{"$ref": "#/$defs/references"}
		}
		return object{"anyOf": []object{{"$ref": "#/$defs/references"},
			{"type": "object", "properties": byAction, "additionalProperties": false}}}
	}
	return nil
}

// references is the schema of references: a string, or a list of strings.
func references() object {
	return object{"type": []string{"string", "array"}, "items": object{"$ref": "#/$defs/references"},
		"description": "references to states: package.nginx, or service.nginx.reload for an action"}
}

// value returns the schema of the values that convert to a type of the language.
func value(t cty.Type, oneOf []string, null bool) object {
	s := object{}
	types := []string{}
	switch {
	case t == cty.DynamicPseudoType:
		return s
	case t == cty.String && len(oneOf) > 0:
		choice := []object{{"enum": oneOf}, {"type": "string", "pattern": computed}}
		if null {
			choice = append(choice, object{"type": "null"})
		}
		return object{"anyOf": choice}
	case t == cty.String:
		types = []string{"string", "number", "boolean"}
	case t == cty.Bool:
		types, s["pattern"] = []string{"boolean", "string"}, `^(true|false|1|0)$|`+computed
	case t == cty.Number:
		types, s["pattern"] = []string{"number", "string"}, `^[-+]?[0-9.]+([eE][-+]?[0-9]+)?$|`+computed
	case t.IsListType() || t.IsSetType():
		types, s["pattern"], s["items"] = []string{"array", "string"}, computed, value(t.ElementType(), nil, true)
	case t.IsMapType():
		types, s["pattern"], s["additionalProperties"] = []string{"object", "string"}, computed,
			value(t.ElementType(), nil, true)
	case t.IsObjectType():
		types, s["pattern"] = []string{"object", "string"}, computed
		members(s, t)
	case t.IsTupleType():
		types, s["pattern"] = []string{"array", "string"}, computed
		tuple(s, t.TupleElementTypes())
	}
	if null {
		types = append(types, "null")
	}
	s["type"] = types
	return s
}

func members(s object, t cty.Type) {
	properties, required := object{}, []string{}
	for _, name := range sorted(t.AttributeTypes()) {
		properties[name] = value(t.AttributeType(name), nil, true)
		if !t.AttributeOptional(name) {
			required = append(required, name)
		}
	}
	s["properties"], s["required"] = properties, required
}

func tuple(s object, types []cty.Type) {
	items := []object{}
	for _, t := range types {
		items = append(items, value(t, nil, true))
	}
	s["minItems"], s["maxItems"] = len(items), len(items)
	if len(items) > 0 {
		s["prefixItems"] = items
	}
}
