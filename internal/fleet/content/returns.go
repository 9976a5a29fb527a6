package content

import (
	"encoding/json"
	"fmt"
)

// ReturnsFormat is the supported format of returns.
const ReturnsFormat = "fettle.returns/1"

// Returns has the content of each part that a target has now, and had before. For a time, the target accepts the
// content before it without a permit, also from an older commit: a rollout that fails returns its targets. A part
// is a path in the signed tree, so a hub cannot rename it. A target stores the returns durably.
//
// A hub can use this to undo the newest change of a target within that time. It cannot undo an earlier change: a
// return does not lower the minimum time of commits, and only one earlier content is accepted.
type Returns map[string]Return

// Return describes one part. The contents are digests of bundles; "" means that the target does not have the part.
type Return struct {
	Now    string `json:"now,omitempty"`
	Before string `json:"before,omitempty"`
	// Until is the time until which Before is accepted, in seconds since 1970.
	Until int64 `json:"until,omitempty"`
	// Returned reports that the target returned to Now. It then accepts this content until it accepts another one.
	Returned bool `json:"returned,omitempty"`
}

type returnsText struct {
	Format string  `json:"format"`
	Parts  Returns `json:"parts"`
}

// Accepts reports whether the target may return to a content of a part, or may keep the content to which it
// returned. now is the time of the target, in seconds since 1970.
func (r Returns) Accepts(part, digest string, now int64) bool {
	was := r[part]
	switch digest {
	case "":
		return false
	case was.Now:
		return was.Returned
	}
	return digest == was.Before && now < was.Until
}

// Record records the content of a part that the target accepted. It may return to the present content until the
// given time. The same content again changes nothing.
func (r Returns) Record(part, digest string, until int64) {
	if was := r[part]; digest != was.Now {
		r[part] = Return{Now: digest, Before: was.Now, Until: until}
	}
}

// RecordReturn records that the target returned to a content that Accepts permits.
func (r Returns) RecordReturn(part, digest string) {
	if digest != r[part].Now {
		r[part] = Return{Now: digest, Returned: true}
	}
}

// Marshal returns the text for ParseReturns.
func (r Returns) Marshal() ([]byte, error) { return json.Marshal(returnsText{ReturnsFormat, r}) }

// ParseReturns parses returns. Unknown fields are errors.
func ParseReturns(text []byte) (Returns, error) {
	var t returnsText
	err := decodeStrictly(text, &t)
	if err == nil && t.Format != ReturnsFormat {
		err = fmt.Errorf("their format is %.40q, and this version of fettle reads %s", t.Format, ReturnsFormat)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the contents to which this target may return: %w", err)
	}
	if t.Parts == nil {
		t.Parts = Returns{}
	}
	return t.Parts, nil
}
