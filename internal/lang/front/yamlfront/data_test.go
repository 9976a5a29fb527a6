package yamlfront_test

import (
	"fmt"
	"reflect"
	"testing"

	"go.yaml.in/yaml/v4"

	"fettle.dev/fettle/internal/lang/front/yamlfront"
)

// Unmarshal has the same values and errors as the library, with and without its fast path.
func TestUnmarshalIsTheLibrarys(t *testing.T) {
	for _, text := range []string{"", "a: 1", "a: {b: [1, 2.5, yes, null, ~]}\nc: \"x\"", "a: 1\na: 2", "{a: 1, \"a\": 2}",
		"1: x\n0x1: y", "1: x\n\"1\": y", "a: &x {b: 1}\nc: *x", "a: &x {b: 1}\nc:\n  <<: *x\n  d: 2", "<<: {a: 1}\nb: 2",
		"? [a]\n: 1", "? {a: 1}\n: 1\n? {b: 1}\n: 2", "a: b: c", "- 1\n- {x: 2, x: 3}", "!!str a: 1\na: 2", "a: 1\n---\nb: 2",
		"a: 2001-01-01", "? !!merge <<\n: {a: 1}", "true: 1\nTrue: 2", "a: |\n  x\n  y\n", "a: &x 1",
		"\ta: 1", "a: !!binary aGk="} {
		var got, want any
		gotErr, wantErr := yamlfront.Unmarshal([]byte(text), &got), yaml.Unmarshal([]byte(text), &want)
		if !reflect.DeepEqual(got, want) || fmt.Sprint(gotErr) != fmt.Sprint(wantErr) {
			t.Errorf("%q: %#v %v, not %#v %v", text, got, gotErr, want, wantErr)
		}
	}
}
