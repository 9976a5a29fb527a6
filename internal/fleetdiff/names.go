package fleetdiff

import (
	"math/bits"
	"strings"
)

// ownName replaces the name of a target in lines until all targets are gathered.
const ownName = "\x00"

// withoutName puts ownName in the place of a target's name, where that is a word
// of its own.
func withoutName(text, name string) string {
	part := func(c byte) bool {
		return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
	}
	var b strings.Builder
	for {
		i := strings.Index(text, name)
		if i < 0 || name == "" {
			b.WriteString(text)
			return b.String()
		}
		end := i + len(name)
		if i > 0 && part(text[i-1]) || end < len(text) && part(text[end]) {
			b.WriteString(text[:end])
		} else {
			b.WriteString(text[:i] + ownName)
		}
		text = text[end:]
	}
}

// likeOthers is the reading of a line that most targets share, with as few names replaced as
// possible.
func likeOthers(line, name string, count map[string]int) string {
	best, most := "", 0
	for _, w := range readings(line, name) {
		if n := count[maskDigests(w)]; n > most {
			best, most = w, n
		}
	}
	return best
}

// mostReadings bounds the names in a line of which each may or may not be that of the target.
const mostReadings = 4

// readings returns a line with each choice of the words that are the name of its target, the fewest
// first. With very many words, it chooses all or none.
func readings(line, name string) []string {
	parts := strings.Split(line, ownName)
	n := len(parts) - 1
	switch {
	case n == 0:
		return []string{line}
	case n > mostReadings:
		return []string{strings.ReplaceAll(line, ownName, name), line}
	}
	out := make([]string, 0, 1<<n)
	for own := 0; own <= n; own++ {
		for chosen := range uint(1) << n {
			if bits.OnesCount(chosen) == own {
				out = append(out, reading(parts, name, chosen))
			}
		}
	}
	return out
}

func reading(parts []string, name string, chosen uint) string {
	var b strings.Builder
	for i, p := range parts {
		b.WriteString(p)
		switch {
		case i == len(parts)-1:
		case chosen&(1<<i) != 0:
			b.WriteString(ownName)
		default:
			b.WriteString(name)
		}
	}
	return b.String()
}

// digest is the prefix of a digest, which has digestSize further digits.
const (
	digest     = "sha256:"
	digestSize = 64
)

// maskDigests replaces all digests. It reads the lists of whole fleets, for which a regular expression is too slow.
func maskDigests(text string) string {
	var b strings.Builder
	for {
		i := strings.Index(text, digest)
		if i < 0 {
			break
		}
		end := i + len(digest)
		b.WriteString(text[:end])
		if text = text[end:]; isDigest(text) {
			b.WriteString("…")
			text = text[digestSize:]
		}
	}
	if b.Len() == 0 {
		return text
	}
	b.WriteString(text)
	return b.String()
}

// isDigest reports whether a text begins with the digits of a digest.
func isDigest(text string) bool {
	if len(text) < digestSize {
		return false
	}
	for i := range digestSize {
		if c := text[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
