package round

import (
	"reflect"
	"testing"
)

func TestReadRows(t *testing.T) {
	for text, want := range map[string][]Row{
		"":                           {},
		"[]":                         {},
		`{"a":1} {"a":"x"}`:          {{"a": "1"}, {"a": "x"}},
		`[{"a":null},{"b":[1,2]}]`:   {{"a": ""}, {"b": "[1,2]"}},
		`[12345678901234567890,"x"]`: {{"value": "12345678901234567890"}, {"value": "x"}},
	} {
		got, err := ReadRows(text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("ReadRows(%s) = %v, %v; want %v", text, got, err, want)
		}
	}
	if _, err := ReadRows(`{"a":1} plain text`); err == nil {
		t.Error("text that is not JSON has no error")
	}
}
