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
		c.fault(find(tokens, "format"), "Unknown format", "EDIT supports the formats %s, and this is %q.%s",
			strings.Join(documentFormats(), ", "), clip(format), didYouMean(format, documentFormats()))
		return
	}
	if _, ok := s.Lookup("separator"); ok {
		c.fault(find(tokens, "separator"), "Attribute without effect",
			"separator has an effect only without format, in lines of keys and values. Remove it.")
	}
	parts, err := SplitKey(s.Get("key"))
	switch {
	case err != nil:
		c.fault(find(tokens, "key"), "Invalid key", "%s.", upperFirst(err.Error()))
	case JoinKey(parts) != s.Get("key"):
		c.fault(find(tokens, "key"), "Key with another spelling",
			"The key is not in its standard spelling, so it could have two addresses. Write %q.", clip(JoinKey(parts)))
	case absent && parts[len(parts)-1].Entry >= 0 && format != "xml":
		c.fault(find(tokens, "key"), "Entry of a list",
			"An entry of a list has no name: after its removal, the next entry has its number and would also be removed. Write the whole list.")
	}
	if _, secret := s.Secret(); secret {
		return
	}
	if !absent && format != "ini" && format != "xml" && !json.Valid([]byte(s.Get("value"))) {
		c.fault(find(tokens, "value"), "Invalid value",
			"The value for format=%s is JSON, and %q is not valid JSON. Write double quotes around a text inside the value: value=%q.",
			format,
			clip(
				s.Get("value")), quoteJSON(clip(s.Get("value"))))
	}
}

func quoteJSON(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return s
	}
	return string(b)
}
