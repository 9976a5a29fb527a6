package secret

import "strings"

// Ref stands for a sealed text where a list has a short value: in the
// environment of a command.
type Ref struct {
	Key    string // ID
	Digest string // sha256:hex of what is sealed
}

const refWord = "sealed:"

// String is "sealed:KEY:sha256:HEX", which ParseRef reads.
func (r Ref) String() string { return refWord + r.Key + ":" + r.Digest }

// LooksLikeRef tells whether a value that is none would be taken for a
// reference.
func LooksLikeRef(s string) bool { return strings.HasPrefix(s, refWord) }

// ParseRef reads a reference; ok is false for any other text.
func ParseRef(s string) (r Ref, ok bool) {
	rest, ok := strings.CutPrefix(s, refWord)
	if !ok {
		return Ref{}, false
	}
	r.Key, r.Digest, ok = strings.Cut(rest, ":")
	if !ok || !IsID(r.Key) && r.Key != Placeholder {
		return Ref{}, false
	}
	h, ok := strings.CutPrefix(r.Digest, "sha256:")
	return r, ok && len(h) == 64 && strings.Trim(h, "0123456789abcdef") == ""
}
