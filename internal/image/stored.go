package image

import (
	"bytes"
	"encoding/json"
	"fmt"

	"fettle.dev/fettle/internal/addr"
)

// Types lists every type of image once. The pointers are nil: they only stand for their types.
func Types() []Variant {
	return []Variant{(*File)(nil), (*Region)(nil), (*User)(nil), (*Group)(nil), (*Member)(nil), (*Package)(nil),
		(*Unit)(nil), (*Sysctl)(nil), (*Exec)(nil)}
}

// Fits reports whether an address of kind k can have the image. It is false only if one type alone has
// images for k, and the image has another type.
func (i Image) Fits(k addr.Kind) bool {
	for _, t := range Types() {
		if t.kind() == k {
			return i.Known() && i.Variant.stored() == t.stored()
		}
	}
	return true
}

// MarshalJSON writes an object with one member, whose name is the type: {"file":{…}}. An unknown image is {}.
// The enclosing encoder decides about the escapes of HTML.
func (i Image) MarshalJSON() ([]byte, error) {
	if !i.Known() {
		return []byte("{}"), nil
	}
	var b bytes.Buffer
	b.WriteString(`{"` + i.Variant.stored() + `":`)
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(i.Variant); err != nil {
		return nil, err
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// UnmarshalJSON reads the form of MarshalJSON. It ignores types of newer versions, and null.
func (i *Image) UnmarshalJSON(b []byte) error {
	if t, text := onlyMember(b); t != nil {
		if v := t.fresh(); json.Unmarshal(text, v) == nil {
			i.Variant = v
			return nil
		}
	}
	return i.readMembers(b)
}

// onlyMember returns the type and the text of the first member, or nil if that is not an object of a listed
// type. If b has further members, the text is not valid JSON. It saves one of two passes over the text.
func onlyMember(b []byte) (Variant, []byte) {
	rest, is := bytes.CutPrefix(b, []byte(`{"`))
	name, text, found := bytes.Cut(rest, []byte(`":`))
	if !is || !found || !bytes.HasPrefix(text, []byte("{")) || !bytes.HasSuffix(text, []byte("}")) {
		return nil, nil
	}
	for _, t := range Types() {
		if t.stored() == string(name) {
			return t, text[:len(text)-1]
		}
	}
	return nil, nil
}

// readMembers reads an object with any members.
func (i *Image) readMembers(b []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(b, &members); err != nil {
		return err
	}
	*i = Image{}
	for _, t := range Types() {
		text, is := members[t.stored()]
		if !is || string(text) == "null" {
			continue
		}
		if i.Known() {
			return fmt.Errorf("cannot read an image that is both %q and %q: restore the file from a backup",
				i.Variant.stored(), t.stored())
		}
		i.Variant = t.fresh()
		if err := json.Unmarshal(text, i.Variant); err != nil {
			return err
		}
	}
	return nil
}
