package journal

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"unicode/utf8"
)

// escapeBase plus a byte from 0x80 to 0xff is the character that represents the byte.
const escapeBase = 0x10FF00

// Marshal is json.Marshal, but preserves every byte of every string: file names need not be UTF-8.
// Use it with Unmarshal for all values with paths or images.
func Marshal(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil || !(bytes.Contains(b, []byte(`\ufffd`)) || hasEscape(b)) {
		return b, err
	}
	return json.Marshal(mapStrings(reflect.ValueOf(v), escape).Interface())
}

// Readable returns v itself if JSON can represent its strings byte for byte, and otherwise a copy
// of v with the strings that Marshal writes. text is the JSON of v.
func Readable(v any, text []byte) any {
	if !bytes.Contains(text, []byte(`\ufffd`)) && !hasEscape(text) {
		return v
	}
	return mapStrings(reflect.ValueOf(v), escape).Interface()
}

// Unmarshal decodes the output of Marshal. v must be a pointer.
func Unmarshal(b []byte, v any) error {
	if err := json.Unmarshal(b, v); err != nil {
		return err
	}
	restore(b, v)
	return nil
}

// UnmarshalStrict is Unmarshal, but refuses unknown fields and data after the value. It is for the
// output of other programs.
func UnmarshalStrict(b []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("there is more text after the value")
	}
	restore(b, v)
	return nil
}

func restore(b []byte, v any) {
	if hasEscape(b) {
		e := reflect.ValueOf(v).Elem()
		e.Set(mapStrings(e, unescape))
	}
}

// hasEscape looks for a character from U+10FF80 to U+10FFFF.
func hasEscape(b []byte) bool {
	return bytes.Contains(b, []byte("\xf4\x8f\xbe")) || bytes.Contains(b, []byte("\xf4\x8f\xbf"))
}

func escape(s string) string {
	if utf8.ValidString(s) && !strings.Contains(s, "\xf4\x8f\xbe") && !strings.Contains(s, "\xf4\x8f\xbf") {
		return s
	}
	var out strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if (r == utf8.RuneError && n == 1) || r >= escapeBase+0x80 {
			for _, c := range []byte(s[:n]) {
				out.WriteRune(escapeBase + rune(c))
			}
		} else {
			out.WriteString(s[:n])
		}
		s = s[n:]
	}
	return out.String()
}

func unescape(s string) string {
	if !strings.Contains(s, "\xf4\x8f\xbe") && !strings.Contains(s, "\xf4\x8f\xbf") {
		return s
	}
	var out strings.Builder
	for _, r := range s {
		if r >= escapeBase+0x80 {
			out.WriteByte(byte(r - escapeBase))
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

// mapStrings copies v with f done to every string in it, map keys included. A type with its own text,
// such as a step, is not changed: its text escapes bytes itself.
func mapStrings(v reflect.Value, f func(string) string) reflect.Value {
	if v.Type().Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return v
	}
	out := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.String:
		out.SetString(f(v.String()))
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return v
		}
		in := mapStrings(v.Elem(), f)
		if v.Kind() == reflect.Interface {
			out.Set(in)
			return out
		}
		out.Set(reflect.New(v.Type().Elem()))
		out.Elem().Set(in)
	case reflect.Struct:
		out.Set(v)
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out.Field(i).Set(mapStrings(v.Field(i), f))
			}
		}
	case reflect.Slice:
		if v.IsNil() || v.Type().Elem().Kind() == reflect.Uint8 {
			return v
		}
		out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			out.Index(i).Set(mapStrings(v.Index(i), f))
		}
	case reflect.Map:
		if v.IsNil() {
			return v
		}
		out.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
		for it := v.MapRange(); it.Next(); {
			out.SetMapIndex(mapStrings(it.Key(), f), mapStrings(it.Value(), f))
		}
	default:
		return v
	}
	return out
}
