// Package exported defines the values that targets exchange: the exports of a module on
// one target, and the exports that another target receives. It contains only data. Hubs
// decide the recipients, and the language interprets the values.
//
//	tables, err := exported.Parse(text)      // of the file in the root directory of a tree
//	text = exported.Text(tables)             // the same tables give the same bytes
package exported

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
)

// File is the file at the top of a repository's tree that has what others export. A hub
// and its agents make it; without them one of the repository's own counts.
const File = "exported.json"

const format = "fettle.exported/1"

// The limits of exported values, in numbers and bytes.
const (
	MaxOwn      = 64        // values of one target
	MaxValue    = 8 << 10   // bytes of one value
	MaxOwnBytes = 32 << 10  // bytes of all values of one target
	MaxGiven    = 256 << 10 // bytes of all that one target is given
)

// Own is a value that a target exports.
type Own struct {
	Module string `json:"module"` // the directory: "modules/web"
	// As is the name under which the target has the module, "" where it is the directory's.
	As     string `json:"as,omitempty"`
	Output string `json:"output"`
	Value  string `json:"value"` // JSON, of the output's type, without blanks
}

// Table contains the values that targets export under one output of one module.
type Table struct {
	Module string          `json:"module"`
	Output string          `json:"output"`
	Type   json.RawMessage `json:"type"` // as go-cty writes types
	Values []Value         `json:"values"`
}

// Value is the value of one target.
type Value struct {
	Target string `json:"target"` // its name
	As     string `json:"as,omitempty"`
	// Labels are the labels of the target, for selections.
	Labels map[string]string `json:"labels,omitempty"`
	Value  json.RawMessage   `json:"value"`
}

// Key names a value in its table: the target, and the name of the module where it is not
// the directory's.
func (v Value) Key() string {
	if v.As == "" {
		return v.Target
	}
	return v.Target + ":" + v.As
}

// As is the As of a module that a target has under a name.
func As(directory, name string) string {
	if path.Base(directory) == name {
		return ""
	}
	return name
}

// document is File.
type document struct {
	Format string  `json:"format"`
	Tables []Table `json:"tables"`
}

// Sort puts tables and their values into the one order that they have.
func Sort(tables []Table) {
	slices.SortFunc(tables, func(a, b Table) int {
		return cmp.Or(cmp.Compare(a.Module, b.Module), cmp.Compare(a.Output, b.Output))
	})
	for _, t := range tables {
		slices.SortFunc(t.Values, func(a, b Value) int { return cmp.Compare(a.Key(), b.Key()) })
	}
}

// SortOwn puts what a target exports into the one order that it has.
func SortOwn(list []Own) {
	slices.SortFunc(list, func(a, b Own) int {
		return cmp.Or(cmp.Compare(a.Module, b.Module), cmp.Compare(a.As, b.As), cmp.Compare(a.Output, b.Output))
	})
}

// Text is the text of File for sorted tables. The same tables give the same bytes.
func Text(tables []Table) []byte {
	if tables == nil {
		tables = []Table{}
	}
	for i := range tables {
		if tables[i].Values == nil {
			tables = slices.Clone(tables)
			tables[i].Values = []Value{}
		}
	}
	b, err := json.MarshalIndent(document{format, tables}, "", "  ")
	if err != nil {
		panic(err) // its raw parts were valid JSON when they were read
	}
	return append(b, '\n')
}

// Parse reads File strictly: it refuses unknown fields, duplicates and values beyond the
// limits.
func Parse(text []byte) ([]Table, error) {
	var d document
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&d); err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", File, err)
	}
	if d.Format != format {
		return nil, fmt.Errorf("cannot read %s: its format is %.40q, and this version of fettle reads %s", File, d.Format,
			format)
	}
	return d.Tables, Check(d.Tables)
}

// Check returns an error for invalid tables. It converts the values to compact JSON in
// place.
func Check(tables []Table) error {
	size := 0
	seen := map[[2]string]bool{}
	for i, t := range tables {
		key := [2]string{t.Module, t.Output}
		if seen[key] || t.Module == "" || t.Output == "" {
			return fmt.Errorf("cannot use the values of %.80q of %.80q: they occur twice, or have no name", t.Output, t.Module)
		}
		seen[key] = true
		var err error
		if tables[i].Type, err = compact(t.Type); err != nil {
			return fmt.Errorf("cannot read the type of %.80q of %.80q: %w", t.Output, t.Module, err)
		}
		keys := map[string]bool{}
		for j, v := range t.Values {
			if v.Target == "" || keys[v.Key()] {
				return fmt.Errorf("cannot use the value of %.80q: it occurs twice, or has no target", v.Key())
			}
			keys[v.Key()] = true
			if t.Values[j].Value, err = compact(v.Value); err != nil {
				return fmt.Errorf("cannot read the value of %.80q: %w", v.Key(), err)
			}
			size += len(v.Target) + len(v.As) + len(v.Value) + 32
		}
	}
	if size > MaxGiven {
		return fmt.Errorf("cannot use %d KiB of values: the limit is %d", size>>10, MaxGiven>>10)
	}
	return nil
}

// Size is about how many bytes tables have.
func Size(tables []Table) int {
	n := 0
	for _, t := range tables {
		n += len(t.Module) + len(t.Output) + len(t.Type) + 64
		for _, v := range t.Values {
			n += len(v.Target) + len(v.As) + len(v.Value) + 32
			for k, l := range v.Labels {
				n += len(k) + len(l) + 8
			}
		}
	}
	return n
}

// CheckOwn returns an error for an invalid list of a target's exports, and sorts the list
// in place.
func CheckOwn(list []Own) error {
	if len(list) > MaxOwn {
		return fmt.Errorf("cannot export %d values: the limit is %d", len(list), MaxOwn)
	}
	size := 0
	seen := map[[3]string]bool{}
	for i, o := range list {
		key := [3]string{o.Module, o.As, o.Output}
		switch value, err := compact([]byte(o.Value)); {
		case err != nil:
			return fmt.Errorf("cannot read the value of %.80q: %w", o.Output, err)
		case seen[key] || o.Module == "" || o.Output == "" || len(o.Module) > 255 || len(o.As) > 255 || len(o.Output) > 255:
			return fmt.Errorf("cannot export %.80q of %.80q: it occurs twice, or its name is empty or too long", o.Output,
				o.Module)
		case len(value) > MaxValue:
			return fmt.Errorf("cannot export %.80q: it has %d bytes, and the limit is %d", o.Output, len(value), MaxValue)
		default:
			list[i].Value = string(value)
			size += len(value) + len(o.Module) + len(o.As) + len(o.Output)
		}
		seen[key] = true
	}
	if size > MaxOwnBytes {
		return fmt.Errorf("cannot export %d bytes: the limit is %d", size, MaxOwnBytes)
	}
	SortOwn(list)
	return nil
}

// Same tells whether two sorted lists of tables say the same.
func Same(a, b []Table) bool {
	return slices.EqualFunc(a, b, func(x, y Table) bool {
		return x.Module == y.Module && x.Output == y.Output && bytes.Equal(x.Type, y.Type) &&
			slices.EqualFunc(x.Values, y.Values, sameValue)
	})
}

func sameValue(a, b Value) bool {
	return a.Target == b.Target && a.As == b.As && bytes.Equal(a.Value, b.Value) && maps.Equal(a.Labels, b.Labels)
}

// SameOwn tells whether a target exports the same twice.
func SameOwn(a, b []Own) bool {
	return slices.Equal(a, b)
}

func compact(b []byte) ([]byte, error) {
	if len(b) == 0 {
		return nil, errors.New("there is nothing")
	}
	var out bytes.Buffer
	if err := json.Compact(&out, b); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
