package semver

import (
	"fmt"
	"slices"
	"strings"
)

// Constraint is a condition for versions. The zero value allows every version.
type Constraint struct{ terms []term }

// term is one comparison of a constraint.
type term struct {
	operator string
	version  Version
}

// operators returns the valid operators.
func operators() []string { return []string{">=", "<=", "!=", "~>", ">", "<", "="} }

// mistaken are operators of other tools, and common errors, with the operators that mean the same here.
var mistaken = map[string]string{"=>": ">=", "=<": "<=", "==": "=", "<>": "!=", "^": "~>", "~=": "~>", "~": "~>",
	">>": ">", "<<": "<"}

// ParseConstraint parses comparisons that a version must fulfill together, separated by commas. A version without
// an operator means =. The error quotes the text and shows users how to write it.
func ParseConstraint(text string) (Constraint, error) {
	var c Constraint
	if len(text) > MaxLength {
		return c, fmt.Errorf("a constraint has at most %d characters", MaxLength)
	}
	for one := range strings.SplitSeq(text, ",") {
		t, err := parseTerm(strings.TrimSpace(one))
		if err != nil {
			return Constraint{}, err
		}
		c.terms = append(c.terms, t)
	}
	return c, nil
}

func parseTerm(text string) (t term, err error) {
	t.operator = text[:len(text)-len(strings.TrimLeft(text, "<>=!~^"))]
	rest := strings.TrimSpace(text[len(t.operator):])
	if t.operator == "" {
		t.operator = "="
	}
	if right := mistaken[t.operator]; right != "" {
		return t, fmt.Errorf("%q is not an operator. Did you mean %q?", t.operator+" "+rest, right+" "+rest)
	}
	if !slices.Contains(operators(), t.operator) {
		return t, fmt.Errorf("%q is not an operator: use =, !=, >, >=, <, <= or ~>", t.operator)
	}
	if t.version, err = Parse(rest); err != nil {
		return t, err
	}
	if t.operator == "~>" && t.version.count < 2 {
		return t, fmt.Errorf("~> needs at least two numbers: ~> 1.4 allows 1.4 and newer versions of 1")
	}
	return t, nil
}

// Allows reports whether a version fulfills the constraint.
func (c Constraint) Allows(v Version) bool {
	return !slices.ContainsFunc(c.terms, func(t term) bool { return !t.allows(v) })
}

// Fulfills reports whether the text of a version fulfills the text of a constraint. Invalid texts, and a module without
// a version, do not. "" as a constraint allows everything.
func Fulfills(version, constraint string) bool {
	if constraint == "" {
		return true
	}
	c, err := ParseConstraint(constraint)
	if err != nil {
		return false
	}
	v, err := Parse(version)
	return err == nil && c.Allows(v)
}

func (t term) allows(v Version) bool {
	order := v.Compare(t.version)
	switch t.operator {
	case "=":
		return order == 0
	case "!=":
		return order != 0
	case ">":
		return order > 0
	case ">=":
		return order >= 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	}
	// ~>: the same numbers except for the last one of the constraint
	same := t.version.count - 1
	return order >= 0 && slices.Equal(v.numbers[:same], t.version.numbers[:same])
}
