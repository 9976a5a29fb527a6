package fleetdiff

import (
	"math/bits"
	"regexp"
	"strings"
	"sync"
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

var digests = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`sha256:[0-9a-f]{64}`) })

func maskDigests(text string) string { return digests().ReplaceAllString(text, "sha256:…") }
