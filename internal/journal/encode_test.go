package journal

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
)

// drawStep returns a step as it is read from a state, with any bytes in it; sometimes none.
func drawStep(t *rapid.T) step.Step {
	if rapid.IntRange(0, 4).Draw(t, "no step") == 0 {
		return step.Step{}
	}
	text := func(label string) string {
		var s string
		fill(t, reflect.ValueOf(&s).Elem(), 0)
		return strings.NewReplacer("\x00", "", "\n", "", "\r", "").Replace(s)
	}
	s, err := step.New(step.Edit, []string{"/" + text("path")}, step.Attr{Key: "line", Value: "x" + text("line")})
	if err != nil {
		t.Fatal(err)
	}
	if s, err = step.ParseLine(s.String()); err != nil {
		t.Fatal(err)
	}
	return s
}

// drawImage returns an image of any type; sometimes an unknown one.
func drawImage(t *rapid.T, depth int) image.Image {
	types := image.Types()
	n := rapid.IntRange(0, len(types)).Draw(t, "type")
	if n == len(types) {
		return image.Image{}
	}
	v := reflect.New(reflect.TypeOf(types[n]).Elem())
	fill(t, v.Elem(), depth)
	return image.Image{Variant: v.Interface().(image.Variant)}
}

// fill sets everything below v by dice; a new field takes part by itself.
func fill(t *rapid.T, v reflect.Value, depth int) {
	switch v.Type() {
	case reflect.TypeFor[step.Step]():
		v.Set(reflect.ValueOf(drawStep(t)))
		return
	case reflect.TypeFor[image.Image]():
		v.Set(reflect.ValueOf(drawImage(t, depth)))
		return
	}
	switch v.Kind() {
	case reflect.String:
		s := rapid.OneOf(rapid.Just(""), rapid.StringMatching(`[ -~]{1,12}`), rapid.String(),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
			rapid.Just("\U0010FF80\xff\ufffd")).Draw(t, "s")
		v.SetString(s)
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "b"))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.Int64().Draw(t, "i"))
	case reflect.Uint32:
		v.SetUint(uint64(rapid.Uint32().Draw(t, "u")))
	case reflect.Uint64:
		v.SetUint(rapid.Uint64().Draw(t, "u"))
	case reflect.Uint8:
		v.SetUint(uint64(rapid.Byte().Draw(t, "u")))
	case reflect.Pointer:
		if rapid.IntRange(0, depth).Draw(t, "nil") < 3 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem(), depth+1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if !v.Type().Field(i).IsExported() {
				continue
			}
			fill(t, v.Field(i), depth)
		}
	case reflect.Slice:
		if n := rapid.IntRange(0, 2).Draw(t, "n"); n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				fill(t, v.Index(i), depth)
			}
		}
	case reflect.Map:
		if rapid.Bool().Draw(t, "map") {
			v.Set(reflect.MakeMap(v.Type()))
			k, e := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(t, k, depth)
			fill(t, e, depth)
			v.SetMapIndex(k, e)
		}
	default:
		t.Fatalf("cannot fill a %s", v.Kind())
	}
}

func TestEncodeIsMarshal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r Record
		fill(t, reflect.ValueOf(&r).Elem(), 0)
		if rapid.Bool().Draw(t, "plain file") { // the case that is written by hand
			var f image.File
			fill(t, reflect.ValueOf(&f).Elem(), 0)
			f.Xattrs, f.Entries = nil, nil
			r.From, r.To = new(image.Of(&f)), new(image.Of(&f))
		}
		want, err := Marshal(&r)
		if err != nil {
			t.Fatal(err)
		}
		got, err := appendRecord(nil, &r)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("by hand %s (%v)\nmarshal %s", got, err, want)
		}
		var back Record
		if err := Unmarshal(got, &back); err != nil {
			t.Fatal(err)
		}
		if back.Seq = r.Seq; !sameButEmpty(back, r) {
			t.Fatalf("came back as %+v, was %+v", back, r)
		}
	})
}

// TestStateByHand: the specialized encoder and decoder of states have the same results as
// reflection.
func TestStateByHand(t *testing.T) {
	plain := rapid.StringMatching(`[ -~é]{1,8}`)
	rapid.Check(t, func(t *rapid.T) {
		var st State
		fill(t, reflect.ValueOf(&st).Elem(), 0)
		if rapid.Bool().Draw(t, "plain") { // input of the specialized decoder
			st = State{Format: 1, Run: st.Run, List: plain.Draw(t, "list"), Entries: st.Entries, Complete: st.Complete}
			for i := range st.Entries {
				e := &st.Entries[i]
				e.Src, e.PurgedBy, e.Addr = plain.Draw(t, "src"), "", "file:/a"
				if rapid.Bool().Draw(t, "absent") {
					e.Origin = new(image.Of(&image.File{Type: image.Absent}))
				}
			}
		}
		want, err := Marshal(st)
		if err != nil {
			t.Fatal(err)
		}
		got, err := marshalState(&st)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("by hand %s (%v)\nmarshal %s", got, err, want)
		}
		sameStates(t, got)
		if len(got) > 2 { // modified input has the same result or error
			i := rapid.IntRange(0, len(got)-1).Draw(t, "at")
			got[i] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
			sameStates(t, got)
			sameStates(t, append(got[:i:i], got[rapid.IntRange(i, len(got)).Draw(t, "to"):]...))
		}
	})
}

func sameStates(t *rapid.T, b []byte) {
	var hand, reflected State
	herr, rerr := unmarshalState(bytes.Clone(b), &hand), Unmarshal(b, &reflected)
	if (herr == nil) != (rerr == nil) || herr == nil && !reflect.DeepEqual(hand, reflected) {
		t.Fatalf("%s\nby hand   %+v %v\nreflected %+v %v", b, hand, herr, reflected, rerr)
	}
}

// TestPlainStateIsScanned: the state of many files takes the short way.
func TestPlainStateIsScanned(t *testing.T) {
	st := State{Format: 1, Run: 2, Complete: true}
	mkdir, err := step.ParseLine("MKDIR /a")
	if err != nil {
		t.Fatal(err)
	}
	st.Revision.Author = "Ada <ada@example.org>" // which JSON escapes
	for range 1000 {
		st.Entries = append(st.Entries, Entry{Addr: "file:/a", Step: mkdir, Src: "a:1", Run: 1, FirstRun: 1,
			Origin: new(image.Of(&image.File{Type: image.Absent}))})
	}
	b, err := marshalState(&st)
	if err != nil {
		t.Fatal(err)
	}
	var back State
	if n := testing.AllocsPerRun(10, func() { err = unmarshalState(b, &back) }); err != nil || n > 100 {
		t.Errorf("%v allocations for %d entries: %v", n, len(back.Entries), err)
	}
	if !reflect.DeepEqual(back, st) {
		t.Errorf("it is read as %d entries, the first of them %+v", len(back.Entries), back.Entries[0])
	}
}

// sameButEmpty compares the encoded records: an empty slice equals nil.
func sameButEmpty(a, b Record) bool {
	x, errX := Marshal(a)
	y, errY := Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

func TestEscapeInverts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{"a", "\xff", "\x80", "\u00e9", "\ufffd", "\U0010FF80",
			"\U0010FFFF", "\U0010FF7F", "\xf4\x8f", "\xbe", "\xbf\x80"})).Draw(t, "parts")
		s := ""
		for _, p := range parts {
			s += p
		}
		if got := unescape(escape(s)); got != s {
			t.Fatalf("%q came back as %q", s, got)
		}
	})
}

// TestEntriesAreReadByHand: entries with any origin are decoded directly from the text, so that a
// state is never decoded twice because of one entry.
func TestEntriesAreReadByHand(t *testing.T) {
	plain := rapid.StringMatching(`[ -~é]{0,8}`)
	rapid.Check(t, func(t *rapid.T) {
		e := Entry{Addr: "file:/a", Step: drawStep(t), Run: rapid.Int().Draw(t, "run"),
			FirstRun: rapid.Int().Draw(t, "first")}
		if rapid.Bool().Draw(t, "output") {
			out := plain.Draw(t, "out")
			e.Output = &out
		}
		e.Failed, e.Undo = rapid.Bool().Draw(t, "failed"), drawStep(t)
		switch rapid.IntRange(0, 3).Draw(t, "origin") {
		case 1:
			e.Origin = new(image.Of(&image.File{Type: image.Absent}))
		case 2:
			e.Origin = new(image.Of(&image.File{Type: image.Symlink, Target: plain.Draw(t, "target")}))
		case 3:
			e.Origin = new(image.Of(&image.User{Present: true, Home: plain.Draw(t, "home")}))
		}
		o := object{}
		o.entry(&e)
		s := scanner{rest: string(o.b) + `,{"a":"next`}
		if got := s.entry(); s.bad || s.rest != `,{"a":"next` || !reflect.DeepEqual(got, e) {
			t.Fatalf("%s is read as %+v, bad %v, and %q is left", o.b, got, s.bad, s.rest)
		}
	})
}
