package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// canon is a value in the one form that values are compared in: JSON without
// blanks, the keys of a mapping sorted.
func canon(n *node) string { return canonBut(n, nil) }

// canonBut leaves the item out that a trail of names leads to.
func canonBut(n *node, but []int) string {
	if n.kind == scalar {
		return n.scalar
	}
	var parts []string
	for i, it := range n.items {
		below := []int(nil)
		if len(but) > 0 && but[0] == i {
			if len(but) == 1 {
				continue
			}
			below = but[1:]
		}
		text := canonBut(it.value, below)
		if it.value.implicit && text == "{}" && below != nil {
			continue // it exists only because of the omitted value
		}
		if strings.HasPrefix(it.key, "#") && it.value.kind == scalar && n.xml && strings.TrimSpace(text) == "" {
			continue // the blanks between elements
		}
		if n.kind == mapping {
			text = quote(it.key) + ":" + text
		}
		parts = append(parts, text)
	}
	if n.kind == sequence {
		return "[" + strings.Join(parts, ",") + "]"
	}
	slices.Sort(parts)
	return "{" + strings.Join(parts, ",") + "}"
}

// quote returns a text as JSON, with only the necessary escapes.
func quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return strconv.Quote(s)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// number is a number in canonical form: the same value has the same text.
func number(text string) string {
	if strings.Trim(text, "0123456789") == "" || strings.Trim(strings.TrimPrefix(text, "-"), "0123456789") == "" {
		return text
	}
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || math.IsInf(f, 0) || math.IsNaN(f):
		return quote(text)
	case f == math.Trunc(f) && math.Abs(f) < 1e15:
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// canonicalJSON reads a JSON value.
func canonicalJSON(value string) (string, error) {
	d := json.NewDecoder(strings.NewReader(value))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return "", errors.New("its value is not JSON; write double quotes around a text inside the value")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return "", errors.New("its value is more than one JSON value")
	}
	return canon(nodeOf(v)), nil
}

// nodeOf is a decoded JSON value as a node without a place.
func nodeOf(v any) *node {
	switch v := v.(type) {
	case map[string]any:
		n := &node{kind: mapping}
		for k, e := range v {
			n.items = append(n.items, item{key: k, value: nodeOf(e)})
		}
		slices.SortFunc(n.items, func(a, b item) int { return strings.Compare(a.key, b.key) })
		return n
	case []any:
		n := &node{kind: sequence}
		for _, e := range v {
			n.items = append(n.items, item{value: nodeOf(e)})
		}
		return n
	case string:
		return &node{kind: scalar, scalar: quote(v)}
	case json.Number:
		return &node{kind: scalar, scalar: number(v.String())}
	case bool:
		return &node{kind: scalar, scalar: strconv.FormatBool(v)}
	}
	return &node{kind: scalar, scalar: "null"}
}

// fromJSON reads a canonical value back.
func fromJSON(canonical string) *node {
	d := json.NewDecoder(strings.NewReader(canonical))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return &node{kind: scalar, scalar: canonical}
	}
	return nodeOf(v)
}

// spaced returns a value as JSON with blanks after commas and colons.
func spaced(n *node) string {
	if n.kind == scalar {
		return n.scalar
	}
	parts := make([]string, len(n.items))
	for i, it := range n.items {
		if parts[i] = spaced(it.value); n.kind == mapping {
			parts[i] = quote(it.key) + ": " + parts[i]
		}
	}
	if n.kind == sequence {
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
