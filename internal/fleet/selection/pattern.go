package selection

import (
	"errors"
	"regexp"
	"strings"
)

// maxDepth is how deep braces may nest.
const maxDepth = 8

// pattern is what a text has to be, or to fit.
type pattern struct {
	text string         // what it has to be
	glob *regexp.Regexp // what it has to fit; nil where the text says it
}

func (p pattern) fits(text string) bool {
	if p.glob != nil {
		return p.glob.MatchString(text)
	}
	return text == p.text
}

// Quote writes a name so that it stands for itself and nothing else.
func Quote(name string) string {
	var b strings.Builder
	for i, r := range name {
		if strings.ContainsRune(`\*?[]{},&=:#`, r) || i == 0 && strings.ContainsRune("!@ ", r) || i == len(name)-1 && r == ' ' {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// newPattern reads a text in which * is any text, ? any character, [a-z] one of
// these, [!a-z] none of these, {a,b} either, and \ takes the meaning off what
// follows.
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
		return pattern{}, errors.New("it is too large a pattern")
	}
	return pattern{text: text, glob: re}, nil
}

// converter makes a regular expression of a pattern.
type converter struct {
	left    string // what is still to be read
	out     strings.Builder
	literal strings.Builder // the text, as long as nothing has a meaning
	glob    bool
}

// sequence reads to the end, or inside of braces to the next comma or brace.
func (c *converter) sequence(depth int) error {
	for c.left != "" {
		r := c.next()
		switch {
		case r == "\\":
			if c.left == "" {
				return errors.New(`a \ has nothing behind it`)
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

// next takes the next character off.
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

// class reads what is behind [.
func (c *converter) class() error {
	c.glob = true
	not := strings.HasPrefix(c.left, "!") || strings.HasPrefix(c.left, "^")
	if not {
		c.next()
	}
	var chars, dash []string // a dash that is one of the range marks
	for {
		if c.left == "" {
			return errors.New(`a [ has no ]; for the character itself write \[`)
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

// members writes a class. marks are the characters where they were written
// without a \.
func (c *converter) members(chars, marks []string, not bool) error {
	if len(chars) == 0 {
		return errors.New(`there is nothing between [ and ]`)
	}
	c.out.WriteString("[")
	if not {
		c.out.WriteString("^")
	}
	for i := 0; i < len(chars); i++ {
		c.out.WriteString(member(chars[i]))
		if i+2 < len(chars) && marks[i+1] == "-" {
			if chars[i] > chars[i+2] {
				return errors.New("the range " + chars[i] + "-" + chars[i+2] + " goes backwards")
			}
			c.out.WriteString("-" + member(chars[i+2]))
			i += 2
		}
	}
	c.out.WriteString("]")
	return nil
}

// member is a character of a class of the regular expression.
func member(r string) string {
	if strings.ContainsAny(r, `\]^-[&~`) {
		return `\` + r
	}
	return r
}

// choice reads what is behind {.
func (c *converter) choice(depth int) error {
	if depth > maxDepth {
		return errors.New("braces stand too deep inside of each other")
	}
	c.glob = true
	c.out.WriteString("(?:")
	for {
		if err := c.sequence(depth); err != nil {
			return err
		}
		switch {
		case c.left == "":
			return errors.New(`a { has no }; for the character itself write \{`)
		case c.next() == "}":
			c.out.WriteString(")")
			return nil
		}
		c.out.WriteString("|")
	}
}
