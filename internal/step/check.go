package step

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// New makes a step of a program's values, checked and converted to canonical form as by Parse. The
// error contains every fault. Written and Range are empty; args and attrs are not retained.
func New(verb Verb, args []string, attrs ...Attr) (Step, error) {
	var tokens []token
	for _, a := range args {
		tokens = append(tokens, token{text: a, quoted: true})
	}
	for _, a := range attrs {
		tokens = append(tokens, token{key: a.Key, text: a.Value, quoted: true})
	}
	sh := shapes[string(verb)]
	if sh == nil {
		return Step{}, fmt.Errorf("cannot create a step: there is no verb %q.%s", verb, didYouMean(string(verb), verbNames()))
	}
	var c checker
	var s Step
	c.step(sh, tokens, &s)
	var errs []error
	for _, f := range c.faults {
		errs = append(errs, fmt.Errorf("cannot create a step %s: %s: %s", verb, f.summary, f.detail))
	}
	if err := errors.Join(errs...); err != nil {
		return Step{}, err
	}
	return s, nil
}

// checker turns words into steps and collects their errors. It divides its memory into slices for
// steps, so that a list of many steps costs few allocations.
type checker struct {
	faults []fault
	args   []string
	attrs  []Attr
}

func (c *checker) fault(at int, summary, detail string, args ...any) {
	c.faults = append(c.faults, fault{at: at, summary: summary, detail: fmt.Sprintf(detail, args...)})
}

// step fills s from the words after a verb. The step is complete only if no fault was added.
func (c *checker) step(sh *shape, tokens []token, s *Step) {
	before := len(c.faults)
	s.Verb = sh.verb
	n := c.subjects(sh, tokens, s)
	c.attributes(sh, tokens, n, s)
	if len(c.faults) == before {
		c.rules(s, tokens)
	}
}

// subjects reads the words before the first attribute, and returns their number.
func (c *checker) subjects(sh *shape, tokens []token, s *Step) int {
	n := 0
	for n < len(tokens) && tokens[n].key == "" {
		n++
	}
	start := c.reserveArgs(n)
	for i := range tokens[:n] {
		t := &tokens[i]
		if i >= len(sh.names) && !sh.variadic {
			c.fault(i, "Too many subjects", "%s takes %s: %s. %q is one too many. Quote a value that contains blanks.",
				sh.verb, count(len(sh.names), "subject"), sh.usage(), clip(t.text))
			break
		}
		canon, why := t.canonical(sh.subjectTypeAt(i))
		if why != "" {
			c.fault(i, sh.subjectTypeAt(i).summary(), "%s", why)
		}
		c.args = append(c.args, canon)
	}
	if n < sh.least {
		c.fault(wholeLine, "Missing subject", "%s needs %s: %s. The %s is missing.%s", sh.verb, count(sh.least, "subject"),
			sh.usage(), sh.names[n], missingHint(tokens[n:]))
	}
	s.Args = c.args[start:len(c.args):len(c.args)]
	return n
}

// canonical is Type.canonical of the word. Only a quoted one can hold NUL.
func (t *token) canonical(typ Type) (canon, why string) {
	if t.quoted && strings.IndexByte(t.text, 0) >= 0 {
		return t.text, "The value contains a NUL byte, which paths, names and arguments cannot contain. Remove it."
	}
	return typ.canonical(t.text)
}

func count(n int, what string) string {
	if n == 1 {
		return "one " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// missingHint returns advice for a subject that was read as an attribute.
func missingHint(rest []token) string {
	if len(rest) == 0 {
		return ""
	}
	t := rest[0]
	return fmt.Sprintf(" Quote a subject that looks like an attribute: %s.", strconv.Quote(clip(t.key+"="+t.text)))
}

// attributes reads the words from the n-th on.
func (c *checker) attributes(sh *shape, tokens []token, n int, s *Step) {
	start := c.reserveAttrs(len(tokens) - n)
	for i := n; i < len(tokens); i++ {
		t := &tokens[i]
		if t.key == "" {
			c.fault(i, "Subject after an attribute", "%q is written after an attribute. Write all subjects first: %s.%s",
				clip(t.text), sh.usage(), keyHint(t, sh))
			continue
		}
		k := sh.index(t.key)
		if k < 0 {
			c.fault(i, "Unknown attribute", "%s", unknownKey(sh, t))
			continue
		}
		c.attribute(sh, k, i, t, start)
	}
	s.Attrs = c.attrs[start:len(c.attrs):len(c.attrs)]
}

// keyHint returns advice for blanks around an equals sign, or a missing one.
func keyHint(t *token, sh *shape) string {
	if t.quoted {
		return ""
	}
	word, _, _ := strings.Cut(t.text, "=")
	if sh.index(word) >= 0 || word == "" {
		return " An attribute is written key=value, without blanks around the equals sign."
	}
	return ""
}

func unknownKey(sh *shape, t *token) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s has no attribute %q.%s", sh.verb, clip(t.key), didYouMean(t.key, sh.keyNames()))
	if len(sh.keys) == 0 {
		b.WriteString(" It takes none.")
	} else {
		b.WriteString(" It takes " + strings.Join(sh.keyNames(), ", ") + ".")
	}
	if sh.variadic {
		fmt.Fprintf(&b, " Quote a word of a command that looks like an attribute: %s.", strconv.Quote(clip(t.key+"="+t.text)))
	}
	return b.String()
}

// attribute checks token i, the value of key k, and puts it in its place in
// the schema's order among the attributes from start on.
func (c *checker) attribute(sh *shape, k, i int, t *token, start int) {
	key := &sh.keys[k]
	canon, why := t.canonical(key.Type)
	if why != "" {
		c.fault(i, key.Type.summary(), "The attribute %s: %s", key.Name, why)
	}
	at := len(c.attrs)
	for at > start && sh.index(c.attrs[at-1].Key) > k {
		at--
	}
	if !key.List && at > start && c.attrs[at-1].Key == key.Name {
		c.fault(i, "Attribute written twice", "%s already has %s. Keep one of the two.", sh.verb, key.Name)
		return
	}
	c.attrs = append(c.attrs, Attr{})
	copy(c.attrs[at+1:], c.attrs[at:])
	c.attrs[at] = Attr{Key: key.Name, Value: canon}
}

// reserveArgs reserves space for n more words and returns where they begin. Earlier slices are not
// changed.
func (c *checker) reserveArgs(n int) int {
	if cap(c.args)-len(c.args) < n {
		c.args = make([]string, 0, blockOf(cap(c.args), n))
	}
	return len(c.args)
}

func (c *checker) reserveAttrs(n int) int {
	if cap(c.attrs)-len(c.attrs) < n {
		c.attrs = make([]Attr, 0, blockOf(cap(c.attrs), n))
	}
	return len(c.attrs)
}

// blockOf is the size of the next block of memory: it doubles up to a bound,
// so that a short list stays small.
func blockOf(last, need int) int {
	return max(need, min(max(16, 2*last), 8192))
}
