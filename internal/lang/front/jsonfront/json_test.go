package jsonfront_test

import (
	"encoding/json"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/lang/front"
	"fettle.dev/fettle/internal/lang/front/jsonfront"
)

// plain is a document as encoding/json has it.
func plain(n *front.Node) any {
	switch n.Kind {
	case front.Bool:
		return n.Text == "true"
	case front.Number:
		return json.Number(n.Text)
	case front.Text:
		return n.Text
	case front.List:
		out := []any{}
		for _, item := range n.Items {
			out = append(out, plain(item))
		}
		return out
	case front.Map:
		out := map[string]any{}
		for _, p := range n.Pairs {
			out[p.Key.Text] = plain(p.Value)
		}
		return out
	}
	return nil
}

// The output of encoding/json is read back unchanged, and each byte of a text has its place.
func TestReads(t *testing.T) {
	scalar := rapid.OneOf(rapid.String().AsAny(), rapid.Bool().AsAny(), rapid.Just[any](nil),
		rapid.Custom(func(t *rapid.T) any {
			return json.Number(strconv.FormatFloat(rapid.Float64Range(-1e300, 1e300).Draw(t, "n"), 'g', -1, 64))
		}))
	value := rapid.OneOf(scalar, rapid.SliceOfN(scalar, 0, 4).AsAny(), rapid.MapOfN(rapid.String(), scalar, 0, 4).AsAny())
	rapid.Check(t, func(t *rapid.T) {
		want := value.Draw(t, "value")
		text, err := json.MarshalIndent(want, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		doc, bad := jsonfront.Parse(front.NewSource("f", text))
		if bad != nil {
			t.Fatalf("%s: %s", text, bad)
		}
		again, _ := json.Marshal(plain(doc))
		first, _ := json.Marshal(want)
		if string(again) != string(first) {
			t.Fatalf("%s is read as %s", first, again)
		}
		if doc.Kind == front.Text {
			if at := doc.Places(); len(at) != len(doc.Text)+1 || at[len(doc.Text)] != len(text)-1 {
				t.Fatalf("places of %s are %v", text, at)
			}
		}
	})
}

// Nothing is read that encoding/json refuses, but for keys that come twice the
// other way round.
func FuzzStrict(f *testing.F) {
	for _, s := range []string{`{"a": [1, -2.5e+3, "x\u00fc\ud83d\ude00", true, null]}`, `[1,]`, `01`, `"a`,
		`{"a":1,"a":2}`, `nul`, "\"\x01\""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		doc, err := jsonfront.Parse(front.NewSource("f", text))
		if err != nil {
			if err.Start < 0 || err.Start > len(text) || err.Diagnostic().Range.Start.Line == 0 {
				t.Fatalf("no place: %v", err)
			}
			return
		}
		if !json.Valid(text) {
			t.Fatalf("%q is no JSON", text)
		}
		var want any
		if json.Unmarshal(text, &want) == nil && doc.Kind == front.List {
			if got, ok := want.([]any); !ok || len(got) != len(doc.Items) {
				t.Fatalf("%q is read as another list", text)
			}
		}
	})
}
