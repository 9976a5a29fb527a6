package step

import (
	"encoding/json"
	"slices"
	"strings"
)

// documentFormats are the formats that EDIT knows the inside of.
func documentFormats() []string { return []string{"json", "yaml", "toml", "ini", "xml"} }

// documentRules checks an EDIT with format=.
func (c *checker) documentRules(s *Step, tokens []token, absent bool) {
	format := s.Get("format")
	if !slices.Contains(documentFormats(), format) {
		c.fault(find(tokens, "format"), "Unknown format", "EDIT knows the formats %s, and this is %q.%s", strings.Join(documentFormats(), ", "), clip(format), didYouMean(format, documentFormats()))
		return
	}
	if _, ok := s.Lookup("separator"); ok {
		c.fault(find(tokens, "separator"), "Attribute without effect", "separator goes with lines of keys and values; a format knows its own. Leave it out.")
	}
	parts, err := SplitKey(s.Get("key"))
	switch {
	case err != nil:
		c.fault(find(tokens, "key"), "Invalid key", "%s.", upperFirst(err.Error()))
	case JoinKey(parts) != s.Get("key"):
		c.fault(find(tokens, "key"), "Key with another spelling", "Two spellings of a key would be two addresses. Write %q.", clip(JoinKey(parts)))
	case absent && parts[len(parts)-1].Entry >= 0 && format != "xml":
		c.fault(find(tokens, "key"), "Entry of a list", "An entry of a list has no name: once it is gone the next one is in its place, and would go too. Write the whole list.")
	}
	if _, secret := s.Secret(); secret {
		return
	}
	if !absent && format != "ini" && format != "xml" && !json.Valid([]byte(s.Get("value"))) {
		c.fault(find(tokens, "value"), "Invalid value", "The value for format=%s is JSON, and %q is none. A text stands in double quotes inside of it: value=%q.", format, clip(s.Get("value")), quoteJSON(clip(s.Get("value"))))
	}
}

func quoteJSON(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return s
	}
	return string(b)
}
