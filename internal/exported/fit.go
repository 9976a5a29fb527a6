package exported

import (
	"encoding/json"
	"fmt"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// TypeText is a type as Table has it.
func TypeText(t cty.Type) json.RawMessage {
	b, err := ctyjson.MarshalType(t)
	if err != nil {
		panic(err) // the types of the language can all be written
	}
	return b
}

// TypeOf reads the type of a table.
func TypeOf(text json.RawMessage) (cty.Type, error) {
	t, err := ctyjson.UnmarshalType(text)
	if err != nil {
		return cty.NilType, fmt.Errorf("cannot read a type: %w", err)
	}
	return t, nil
}

// ValueText encodes a value for Own. The value must be known, and must not contain a
// secret.
func ValueText(v cty.Value) (string, error) {
	text, err := ctyjson.Marshal(v, v.Type())
	return string(text), err
}

// ValueOf decodes a value and converts it to type t. It returns an error for any other
// type, and for null.
func ValueOf(text json.RawMessage, t cty.Type) (cty.Value, error) {
	v, err := ctyjson.Unmarshal(text, t)
	if err == nil {
		v, err = convert.Convert(v, t)
	}
	if err == nil && (v.IsNull() || !v.IsWhollyKnown()) {
		err = fmt.Errorf("it is null")
	}
	if err != nil {
		return cty.NilVal, fmt.Errorf("cannot use the value as a %s: %w", t.FriendlyName(), err)
	}
	return v, nil
}
