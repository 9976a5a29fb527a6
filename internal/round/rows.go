package round

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ReadRows reads the JSON output of a command: objects, one after the other or in a list. The result is
// not nil if there is no error.
func ReadRows(text string) ([]Row, error) {
	rows := []Row{}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	for {
		var v any
		err := d.Decode(&v)
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		list, ok := v.([]any)
		if !ok {
			list = []any{v}
		}
		for _, e := range list {
			rows = append(rows, rowOf(e))
		}
	}
}

func rowOf(v any) Row {
	fields, ok := v.(map[string]any)
	if !ok {
		return Row{plainColumn: cell(v)}
	}
	r := Row{}
	for name, v := range fields {
		r[name] = cell(v)
	}
	return r
}

// cell returns a value in one line: a text as it is, other values as JSON.
func cell(v any) string {
	switch x := v.(type) {
	case string:
		return x
	case nil:
		return ""
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v) // the value was JSON before, so this cannot fail
	}
	return string(text)
}

// plainColumn is the column of a value that is not an object.
const plainColumn = "value"
