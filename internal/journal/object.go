package journal

import (
	"strconv"

	"fettle.dev/fettle/internal/image"
)

// object writes the fields of one JSON object; empty ones are left out as
// omitempty does.
type object struct {
	b   []byte
	err error
}

func (o *object) key(k string) {
	if o.b[len(o.b)-1] != '{' {
		o.b = append(o.b, ',')
	}
	o.b = append(append(append(o.b, '"'), k...), '"', ':')
}

func (o *object) text(k, s string, always bool) {
	if s == "" && !always {
		return
	}
	o.key(k)
	o.quote(s)
}

func (o *object) quote(s string) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			o.value(s)
			return
		}
	}
	o.b = append(append(append(o.b, '"'), s...), '"')
}

func (o *object) value(v any) {
	enc, err := Marshal(v)
	if err != nil {
		o.err = err
	}
	o.b = append(o.b, enc...)
}

func (o *object) any(k string, v any) {
	o.key(k)
	o.value(v)
}

func (o *object) number(k string, n int64) {
	if n != 0 {
		o.key(k)
		o.b = strconv.AppendInt(o.b, n, 10)
	}
}

func (o *object) unsigned(k string, n uint64) {
	if n != 0 {
		o.key(k)
		o.b = strconv.AppendUint(o.b, n, 10)
	}
}

func (o *object) flag(k string, v bool) {
	if v {
		o.key(k)
		o.b = append(o.b, "true"...)
	}
}

// image writes the image of a plain file by hand and any other as Marshal does.
func (o *object) image(k string, i *image.Image) {
	if i == nil {
		return
	}
	f := i.File()
	if f == nil || *i != image.Of(f) || len(f.Xattrs) > 0 || len(f.Entries) > 0 {
		o.any(k, i)
		return
	}
	o.key(k)
	o.b = append(o.b, `{"file":{`...)
	o.text("type", string(f.Type), true)
	o.unsigned("mode", uint64(f.Mode))
	o.unsigned("uid", uint64(f.UID))
	o.unsigned("gid", uint64(f.GID))
	o.number("size", f.Size)
	o.number("mtime", f.MTime)
	o.text("digest", f.Digest, false)
	o.text("sealed", f.Sealed, false)
	o.text("target", f.Target, false)
	o.unsigned("rdev", f.Rdev)
	o.unsigned("attrs", uint64(f.Attrs))
	o.text("tree", f.Tree, false)
	o.unsigned("nlink", f.Nlink)
	o.b = append(o.b, '}', '}')
}
