package secret

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Hidden is the text that replaces a masked secret.
const Hidden = "(secret)"

// Shortest is the minimum length in bytes of a masked value. Shorter values also occur by chance in
// unrelated texts.
const Shortest = 4

// Masker takes known secret values out of texts, in the forms in which programs
// repeat them: as they are, and quoted or encoded for a shell, JSON, URLs, HTML,
// base64 and hex. It is immutable; the nil Masker masks nothing.
type Masker struct{ replace *strings.Replacer }

// NewMasker knows these values. The order does not matter.
func NewMasker(values []string) *Masker {
	all := map[string]bool{}
	for _, v := range values {
		for _, part := range parts(v) {
			for _, f := range forms(part) {
				if len(f) >= Shortest {
					all[f] = true
				}
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	sorted := make([]string, 0, len(all))
	for f := range all {
		sorted = append(sorted, f)
	}
	// The longest first: a value may be a part of another.
	slices.SortFunc(sorted, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	pairs := make([]string, 0, 2*len(sorted))
	for _, f := range sorted {
		pairs = append(pairs, f, Hidden)
	}
	return &Masker{strings.NewReplacer(pairs...)}
}

// longLine is from which length on a line of a longer value is a secret by
// itself, in bytes: programs show their input line by line.
const longLine = 8

// parts are a value as it is, without the blanks around it, and its long lines,
// but for the marks that PEM puts around keys.
func parts(v string) []string {
	trimmed := strings.TrimSpace(v)
	out := []string{v, trimmed}
	lines := strings.Split(trimmed, "\n")
	if len(lines) < 2 {
		return out
	}
	for _, l := range lines {
		if l = strings.TrimSpace(l); len(l) >= longLine && !strings.HasPrefix(l, "-----") {
			out = append(out, l)
		}
	}
	return out
}

func forms(v string) []string {
	if len(v) < Shortest {
		return nil
	}
	b := []byte(v)
	std, web := base64.StdEncoding.EncodeToString(b), base64.URLEncoding.EncodeToString(b)
	h := hex.EncodeToString(b)
	out := []string{v, strings.TrimRight(std, "="), std, strings.TrimRight(web, "="), web, h, strings.ToUpper(h),
		url.QueryEscape(v), url.PathEscape(v), html.EscapeString(v),
		strings.ReplaceAll(v, "'", `'\''`), strings.ReplaceAll(v, "'", `'"'"'`)}
	for i := range 3 { // inside of longer data, the form depends on the offset
		if len(v) >= 2*Shortest {
			e := base64.StdEncoding.EncodeToString(append(make([]byte, i), v...))
			out = append(out, e[4:len(e)-4])
		}
	}
	q := strconv.Quote(v)
	out = append(out, q[1:len(q)-1])
	if j, err := json.Marshal(v); err == nil {
		out = append(out, string(j[1:len(j)-1]))
	}
	return out
}

// Text is s without the secrets.
func (m *Masker) Text(s string) string {
	if m == nil || len(s) < Shortest {
		return s
	}
	return m.replace.Replace(s)
}

// Bytes is Text of bytes.
func (m *Masker) Bytes(b []byte) []byte {
	if m == nil || len(b) < Shortest {
		return b
	}
	return []byte(m.replace.Replace(string(b)))
}
