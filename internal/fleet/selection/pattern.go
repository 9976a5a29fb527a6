package selection

import (
	"errors"
	"regexp"
	"strings"
)

// maxDepth limits nested braces.
const maxDepth = 8

// pattern matches texts: one exact text or a glob.
type pattern struct {
	text string         // the exact text
	glob *regexp.Regexp // the pattern; nil for an exact text
}

func (p pattern) fits(text string) bool {
	if p.glob != nil {
		return p.glob.MatchString(text)
	}
	return text == p.text
}

// Quote escapes a name, so that the result selects exactly this name.
func Quote(name string) string {
	var b strings.Builder
	for i, r := range name {
		if strings.ContainsRune(`\*?[]{},&=:#`, r) || i == 0 && strings.ContainsRune("!@ ", r) || i == len(name)-1 &&
			r == ' ' {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// newPattern parses a pattern: * matches any text, ? any character, [a-z] one of these, [!a-z] none
// of these, {a,b} either, and \ escapes the next character.
func newPattern(text string) (pattern, error) {
	if text == "" {
		return pattern{}, errors.New("a name is missing")
	}
	c := converter{left: text}
	if err := c.sequence(0); err != nil {
		return pattern{}, err
	}
	if !c.glob {
		return pattern{text: c.literal.String()}, nil
	}
	re, err := regexp.Compile(`(?s)\A(?:` + c.out.String() + `)\z`)
	if err != nil {
		return pattern{}, errors.New("the pattern is too large")
	}
	return pattern{text: text, glob: re}, nil
}

// converter converts a pattern to a regular expression.
type converter struct {
	left    string // unread text
	out     strings.Builder
	literal strings.Builder // the text, if it has no special characters
	glob    bool
}

// sequence reads to the end, or in braces to the next comma or brace.
func (c *converter) sequence(depth int) error {
	for c.left != "" {
		r := c.next()
		switch {
		case r == "\\":
			if c.left == "" {
				return errors.New(`there is no character after \`)
			}
			c.char(c.next())
		case r == "*":
			c.glob = true
			c.out.WriteString(".*")
		case r == "?":
			c.glob = true
			c.out.WriteString(".")
		case r == "[":
			if err := c.class(); err != nil {
				return err
			}
		case r == "{":
			if err := c.choice(depth + 1); err != nil {
				return err
			}
		case depth > 0 && (r == "," || r == "}"):
			c.left = r + c.left
			return nil
		default:
			c.char(r)
		}
	}
	return nil
}

// next removes and returns the next character.
func (c *converter) next() string {
	for i := range c.left {
		if i > 0 {
			r := c.left[:i]
			c.left = c.left[i:]
			return r
		}
	}
	r := c.left
	c.left = ""
	return r
}

func (c *converter) char(r string) {
	c.literal.WriteString(r)
	c.out.WriteString(regexp.QuoteMeta(r))
}

// class reads the characters after [.
func (c *converter) class() error {
	c.glob = true
	not := strings.HasPrefix(c.left, "!") || strings.HasPrefix(c.left, "^")
	if not {
		c.next()
	}
	var chars, dash []string // each character, or "" if it is escaped
	for {
		if c.left == "" {
			return errors.New(`a [ has no ]; for the character [ write \[`)
		}
		r := c.next()
		switch {
		case r == "]":
			return c.members(chars, dash, not)
		case r == "\\" && c.left != "":
			r = c.next()
			dash = append(dash, "")
		default:
			dash = append(dash, r)
		}
		chars = append(chars, r)
	}
}

// members writes a class. marks contains the characters, with "" for an escaped one.
func (c *converter) members(chars, marks []string, not bool) error {
	if len(chars) == 0 {
		return errors.New(`there is no character between [ and ]`)
	}
	c.out.WriteString("[")
	if not {
		c.out.WriteString("^")
	}
	for i := 0; i < len(chars); i++ {
		c.out.WriteString(member(chars[i]))
		if i+2 < len(chars) && marks[i+1] == "-" {
			if chars[i] > chars[i+2] {
				return errors.New("the range " + chars[i] + "-" + chars[i+2] + " is in the wrong order")
			}
			c.out.WriteString("-" + member(chars[i+2]))
			i += 2
		}
	}
	c.out.WriteString("]")
	return nil
}

// member escapes a character for a class of a regular expression.
func member(r string) string {
	if strings.ContainsAny(r, `\]^-[&~`) {
		return `\` + r
	}
	return r
}

// choice reads the alternatives after {.
func (c *converter) choice(depth int) error {
	if depth > maxDepth {
		return errors.New("braces are nested too deeply")
	}
	c.glob = true
	c.out.WriteString("(?:")
	for {
		if err := c.sequence(depth); err != nil {
			return err
		}
		switch {
		case c.left == "":
			return errors.New(`a { has no }; for the character { write \{`)
		case c.next() == "}":
			c.out.WriteString(")")
			return nil
		}
		c.out.WriteString("|")
	}
}
