package edit

import (
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
	"fettle.dev/fettle/internal/verb/edit/document"
)

// inside is the document that a step is about, and the key in it. ok is false for
// steps about lines and blocks.
func inside(s step.Step) (d document.Document, key []step.KeyPart, ok bool) {
	if d, ok = document.For(s.Get("format")); !ok {
		return d, nil, false
	}
	key, err := step.SplitKey(s.Get("key")) // the parser refuses a wrong one
	return d, key, err == nil
}

// look returns the image of the step's region in a file's text. If the text is not a valid
// document, the error allows an earlier step to replace it.
func look(text string, s step.Step) (image.Region, error) {
	d, key, ok := inside(s)
	if !ok {
		return find(text, s), nil
	}
	r, err := d.Find(text, key, s.Absent())
	if err != nil {
		return r, &verb.InTheWayError{Path: s.Path(), Err: fmt.Errorf("cannot edit %q: %w", s.Path(), err)}
	}
	return r, nil
}

// target returns the desired region of the step, starting from now.
func target(s step.Step, now image.Region) (image.Region, error) {
	d, _, ok := inside(s)
	if !ok {
		return wanted(s, now), nil
	}
	if s.Absent() {
		return image.Region{FileAbsent: now.FileAbsent}, nil
	}
	text, err := d.Canonical(s.Get("value"))
	if err != nil || now.Present && now.Text == text {
		return now, err
	}
	return image.Region{Present: true, Text: text, Line: now.Line}, nil
}

// change returns the file's text with the step's region as in to.
func change(text string, s step.Step, to image.Region) (string, error) {
	d, key, ok := inside(s)
	if !ok {
		return put(text, s, to), nil
	}
	next, err := d.Put(text, key, s.Absent(), to)
	if err != nil {
		return "", fmt.Errorf("cannot edit %q: %w", s.Path(), err)
	}
	return next, nil
}

// empty reports whether a text is empty or, if the step is about a value, has no value.
func empty(s step.Step, text string) bool {
	if _, _, ok := inside(s); ok {
		return strings.Trim(text, "{} \t\r\n") == ""
	}
	return text == ""
}
