package edit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/secret"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
)

// A file with a secret region is read and stored sealed as a whole. An image has the content of
// such a region in two forms. Text is the reference to the value alone, so that images and steps
// can be compared without a key. Words are the sealed region as written in the file, to restore it.
// An image is not sealed only if its region equals plain text in a list.

// unveiled reads the file at a path as it is.
func unveiled(h host.Host, p string) host.Reader {
	if v, ok := h.(host.Veiled); ok && v.Sealing(p) != "" {
		return v.Under(p, "")
	}
	return h
}

// revealed returns the step with its secret instead of the reference. No part of it must be shown.
func revealed(h host.Host, s step.Step) (step.Step, error) {
	ref, is := s.Secret()
	if !is {
		return s, nil
	}
	v, ok := h.(host.Veiled)
	if !ok {
		return s, fmt.Errorf("cannot edit %q: its secret cannot be decrypted here: %w", s.Path(), host.ErrUnsupported)
	}
	content, err := v.Reveal(ref)
	if err != nil {
		return s, fmt.Errorf("cannot edit %q: %w", s.Path(), err)
	}
	plain := s.Revealed(string(content))
	if bytes.ContainsAny(content, "\n\r") && s.Get("block") == "" && s.Get("format") == "" {
		return s, fmt.Errorf("cannot edit %q: its secret has a line break, and the step writes one line; use a block",
			s.Path())
	}
	if why := refuse(plain); why != "" && !s.Absent() {
		return s, fmt.Errorf("cannot edit %q: its secret contains a line that marks the beginning or end of the block; "+
			"give the block another name", s.Path())
	}
	return plain, nil
}

// words are the sealed parts of a region.
type words struct {
	Text   string        `json:"text,omitempty"`
	Others []image.Place `json:"others,omitempty"`
	Source *image.Source `json:"source,omitempty"`
}

// concealed is the image of a region in a file that is read sealed.
func concealed(h host.Host, s, plain step.Step, r image.Region) (image.Region, error) {
	v, ok := h.(host.Veiled)
	ref, is := s.Secret()
	if !ok || !r.Present || !is && v.Sealing(s.Path()) == "" {
		return r, nil
	}
	want, err := target(plain, r)
	asWanted := err == nil && want.Present && want.Text == r.Text
	if asWanted && !is {
		return r, nil
	}
	key := v.Sealing(s.Path())
	if key == "" {
		key = ref.Key
	}
	value := payload(plain, r)
	if asWanted && !s.Absent() {
		value = payloadOf(plain)
	}
	return sealedRegion(v, key, value, r)
}

func sealedRegion(v host.Veiled, key, value string, r image.Region) (image.Region, error) {
	text, err := json.Marshal(words{r.Text, r.Others, r.Source})
	if err != nil {
		return r, err
	}
	sealed, err := v.Conceal(key, []byte(value))
	if err != nil {
		return r, err
	}
	r.Text, r.Others, r.Source = secret.RefTo(key, sealed).String(), nil, nil
	r.Encrypted, err = v.Conceal(key, text)
	return r, err
}

// payloadOf returns the text that replaces the step's reference.
func payloadOf(plain step.Step) string {
	for _, k := range []string{"content", "value", "line"} {
		if v, ok := plain.Lookup(k); ok {
			return v
		}
	}
	return ""
}

// payload returns the value in a region in the form that kinds seal, so that a remaining older
// value is recognized.
func payload(s step.Step, r image.Region) string {
	if s.Get("format") != "" || s.Get("block") != "" {
		return r.Text
	}
	line := strings.TrimSuffix(r.Text, "\n")
	if v, ok := valueIn(line, s); ok && s.Get("key") != "" {
		return v
	}
	return line
}

// secretTarget returns the desired region of a step with a secret, starting from now.
func secretTarget(ref secret.Ref, now image.Region) image.Region {
	if now.Present && now.Text == ref.String() {
		return now
	}
	return image.Region{Present: true, Text: ref.String(), Line: now.Line}
}

// opened returns a region to write, without sealing: a restored region in its original words, or
// the result of the step on the file's text.
func opened(h host.Host, s, plain step.Step, text string, to image.Region) (image.Region, error) {
	ref, is := secret.ParseRef(to.Text)
	if !is || !to.Present {
		return to, nil
	}
	if own, _ := s.Secret(); len(to.Encrypted) == 0 && own != ref {
		return to, errors.New("its earlier content was not stored")
	}
	if len(to.Encrypted) == 0 {
		now, err := look(text, plain)
		if err != nil {
			return to, err
		}
		want, err := target(plain, now)
		want.Line = to.Line
		return want, err
	}
	v, ok := h.(host.Veiled)
	if !ok {
		return to, fmt.Errorf("cannot decrypt its earlier content: %w", host.ErrUnsupported)
	}
	b, err := v.Unseal(ref.Key, to.Encrypted)
	var w words
	if err == nil && json.Unmarshal(b, &w) != nil {
		err = errors.New("it is damaged")
	}
	if err != nil {
		return to, fmt.Errorf("cannot decrypt its earlier content: %w", err)
	}
	to.Text, to.Others, to.Source, to.Encrypted = w.Text, w.Others, w.Source, nil
	return to, nil
}

// written stores the new content of the file, and returns its image. A new file with a secret is
// readable only by root.
func written(e verb.Env, s step.Step, f image.File, next string) (image.File, error) {
	_, is := s.Secret()
	switch {
	case is && f.Type == image.Regular && f.Digest == "":
		f.Mode = 0o600
	case is && f.Mode&0o004 != 0:
		e.Note(fmt.Sprintf(
			"every user of the host can read %s, which contains a secret: its mode is %04o; set 0600, or 0640 with a group",
			s.Path(), f.Mode))
	}
	f.MTime, f.Size = 0, int64(len(next))
	content, err := []byte(next), error(nil)
	if v, ok := e.Host.(host.Veiled); ok {
		if f.Sealed = v.Sealing(s.Path()); f.Sealed != "" {
			content, err = v.Conceal(f.Sealed, content)
		}
	}
	if err != nil {
		return f, err
	}
	f.Digest, _, err = e.Store.Put(bytes.NewReader(content))
	return f, err
}
