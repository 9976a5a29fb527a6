package schema

import (
	"maps"
	"slices"

	"fettle.dev/fettle/internal/kind"
)

// writer collects the definitions of a document.
type writer struct {
	defs   object
	states object // by kind: the schema of its value
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// kinds makes a definition of each kind.
func (w *writer) kinds(kinds []kind.Kind) {
	byName := map[string][]kind.Kind{}
	for _, k := range kinds {
		byName[k.Name] = append(byName[k.Name], k)
	}
	for name, same := range byName {
		ways := []object{}
		for _, k := range same {
			ways = append(ways, state(k))
		}
		body := ways[0]
		if len(ways) > 1 {
			body = object{"anyOf": ways}
		}
		w.defs["kind."+name] = body
		alone := slices.ContainsFunc(same, func(k kind.Kind) bool { return len(required(k)) == 0 })
		s := labelled("#/$defs/kind."+name, alone)
		s["description"] = same[0].Doc
		w.states[name] = s
	}
}

// required returns the required attributes of a state. The label provides the main attribute.
func required(k kind.Kind) []string {
	out := []string{}
	for _, a := range k.Attrs {
		if a.Required && a.Name != k.Main {
			out = append(out, a.Name)
		}
	}
	return out
}

// state returns the schema of a state of a kind.
func state(k kind.Kind) object {
	properties := object{}
	for _, a := range metaAttrs(true, k.Actions) {
		properties[a.Name] = attribute(a)
		if a.Type != listen {
			properties[a.Name] = object{"$ref": "#/$defs/state." + a.Name}
		}
	}
	for _, a := range k.Attrs {
		properties[a.Name] = attribute(a)
	}
	s := object{"type": []string{"object", "null"}, "properties": properties, "additionalProperties": false}
	if need := required(k); len(need) > 0 {
		s["type"], s["required"] = "object", need
	}
	return s
}

// labelled maps labels to bodies; alone is set if a label is allowed without a body. Several bodies
// are a list.
func labelled(body string, alone bool) object {
	one := func() object {
		s := object{"type": []string{"object"}, "propertyNames": label(), "additionalProperties": object{"$ref": body}}
		if alone {
			s["type"] = []string{"object", "string"}
			maps.Copy(s, label())
		}
		return s
	}
	s := one()
	s["type"], s["items"] = append(s["type"].([]string), "array"), one()
	return s
}

// label returns the schema of a label: one line of constant text, without ${ or %{.
func label() object {
	return object{"pattern": `^[^\r\n]+$`, "not": object{"type": "string", "pattern": `(^|[^$])\$\{|(^|[^%])%\{`}}
}

// body adds the definitions of the content of a block.
func (w *writer) body(name string, b Block, states bool) {
	if _, done := w.defs[name]; done {
		return
	}
	properties := object{}
	if states {
		maps.Copy(properties, w.states)
	}
	mapping := object{"type": "object", "properties": properties, "additionalProperties": b.names}
	w.defs["in."+name], w.defs[name] = mapping, object{}
	for _, a := range b.Attrs {
		properties[a.Name] = attribute(a)
	}
	for _, inner := range Blocks() {
		if slices.Contains(b.Inside, inner.Name) {
			w.body(inner.Name, inner, inner.States)
			properties[inner.Name] = placed(inner)
		}
	}
	w.defs[name] = whole(name, b)
	if b.names {
		mapping["propertyNames"] = object{"pattern": `^[^\s.0-9"'$%{}()\[\]-][^\s."'$%{}()\[\]]*$`}
	}
}

// whole returns the schema of a body: a mapping, or a list of mappings if the two can be
// distinguished.
func whole(name string, b Block) object {
	ref := object{"$ref": "#/$defs/in." + name}
	need := append([]string{}, b.needs...)
	for _, a := range b.Attrs {
		if a.Required {
			need = append(need, a.Name)
		}
	}
	if len(need) > 0 {
		ref["required"] = need
	}
	var ways []object
	for _, n := range b.oneOf {
		ways = append(ways, object{"required": []string{n}})
	}
	if len(ways) > 0 {
		ref["anyOf"] = ways
	}
	if written := withoutForEach(b); len(written) > 0 {
		ref["allOf"] = []object{{"anyOf": []object{{"required": []string{"for_each"}}, {"properties": written}}}}
	}
	list := object{"type": "array", "items": object{"$ref": "#/$defs/in." + name}}
	switch {
	case len(b.Inside) == 0 && !b.States && b.Name != "fact" && len(need) > 0:
		return ref
	case len(b.Inside) == 0 && !b.States && b.Name != "fact":
		return object{"anyOf": []object{ref, {"type": "null"}}}
	case len(need)+len(ways) > 0:
		return object{"anyOf": []object{ref, list}}
	}
	return object{"anyOf": []object{ref, list, {"type": "null"}}}
}

// placed returns the schema of the value after the name of a block.
func placed(b Block) object {
	s := labelled("#/$defs/"+b.Name, len(b.needs)+len(b.oneOf) == 0)
	if b.Label == "" {
		one := object{"$ref": "#/$defs/" + b.Name}
		s = object{"anyOf": []object{one, {"type": "array", "items": one}}}
	}
	s["description"] = b.Doc
	return s
}

// withoutForEach returns the schemas of attributes that an expression gives only in a block with for_each. A module
// block can be inside of such a block.
func withoutForEach(b Block) object {
	out := object{}
	for _, a := range b.Attrs {
		switch {
		case b.Name == "module":
		case a.Type == madeMapping:
			out[a.Name] = object{"type": "object"}
		case a.Type == madeSequence:
			out[a.Name] = object{"type": "array"}
		}
	}
	return out
}
