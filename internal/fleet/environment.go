package fleet

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Environment is the environment that an operator created for a target, for a limited time. Environments that the
// repository declares have no such record.
type Environment struct {
	Name   string `json:"name"`
	Parent string `json:"parent"` // an environment that the repository declares
	// Domain is the public name. "" means the name below the domain of the parent.
	Domain string `json:"domain,omitempty"`
	// Vars are texts, as on the command line. They are not secret.
	Vars map[string]string `json:"vars,omitempty"`
}

// Limits of the variables of an environment.
const (
	MaxEnvironmentVars  = 50
	MaxEnvironmentBytes = 16 << 10 // of all names and values
)

// Same reports whether two environments have equal values. Both can be nil.
func (e *Environment) Same(o *Environment) bool {
	if e == nil || o == nil {
		return e == o
	}
	return e.Name == o.Name && e.Parent == o.Parent && e.Domain == o.Domain && maps.Equal(e.Vars, o.Vars)
}

// SameEnvironments reports whether two lists have equal values in the same order.
func SameEnvironments(a, b []Environment) bool {
	return slices.EqualFunc(a, b, func(a, b Environment) bool { return a.Same(&b) })
}

// checkTestsFor returns an error if an assignment cannot have the environments in TestsFor.
func checkTestsFor(all []Environment) error {
	var errs []error
	for i, e := range all {
		if errs = append(errs, e.Check()); len(e.Vars) > 0 || i > 0 && all[i-1].Name >= e.Name {
			errs = append(errs, fmt.Errorf("cannot test the checks of the environment %.70q: environments are sorted, and have "+
				"no variables", e.Name))
		}
	}
	return errors.Join(errs...)
}

// Text identifies the values of an environment. nil gives "".
func (e *Environment) Text() string {
	if e == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%q %q %q", e.Name, e.Parent, e.Domain)
	for _, name := range slices.Sorted(maps.Keys(e.Vars)) {
		fmt.Fprintf(&b, " %q=%q", name, e.Vars[name])
	}
	return b.String()
}

// environmentName is a part of a domain name: the name of an environment can be a part of its public name.
var environmentName = sync.OnceValue(
	func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`) })

var variableName = sync.OnceValue(
	func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,99}$`) })

var domainName = sync.OnceValue(func() *regexp.Regexp {
	const part = `[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?`
	return regexp.MustCompile(`^` + part + `(\.` + part + `)*$`)
})

// Check returns an error if no environment can have the values. nil is valid.
func (e *Environment) Check() error {
	switch {
	case e == nil:
		return nil
	case !environmentName().MatchString(e.Name):
		return fmt.Errorf("cannot use %.70q as the name of an environment: a name has up to 63 lower-case letters, digits "+
			"and -, as a part of a domain", e.Name)
	case e.Parent == "" || len(e.Parent) > 255:
		return fmt.Errorf("cannot use %.70q as the parent of an environment", e.Parent)
	case e.Domain != "" && (len(e.Domain) > 253 || !domainName().MatchString(e.Domain)):
		return fmt.Errorf("cannot use %.70q as the domain of an environment: a domain has lower-case letters, digits and - "+
			"in parts that dots separate", e.Domain)
	case len(e.Vars) > MaxEnvironmentVars:
		return fmt.Errorf("cannot accept %d variables of an environment: the maximum is %d", len(e.Vars), MaxEnvironmentVars)
	}
	size := 0
	for _, name := range slices.Sorted(maps.Keys(e.Vars)) {
		if size += len(name) + len(e.Vars[name]); !variableName().MatchString(name) {
			return fmt.Errorf("cannot use %.70q as the name of a variable: a name has letters, digits, _ and -, and begins "+
				"with a letter or _", name)
		}
		if !utf8.ValidString(e.Vars[name]) || strings.Contains(e.Vars[name], "\x00") {
			return fmt.Errorf("cannot accept the value of the variable %s: it must be UTF-8 without NUL", name)
		}
	}
	if size > MaxEnvironmentBytes {
		return errors.New("cannot accept more than 16 KiB of variables of an environment")
	}
	return nil
}

// escaped returns a copy in which no text is a template of the language.
func (e *Environment) escaped() *Environment {
	if e == nil {
		return nil
	}
	plain := strings.NewReplacer("${", "$${", "%{", "%%{")
	out := Environment{Name: plain.Replace(e.Name), Parent: plain.Replace(e.Parent), Domain: plain.Replace(e.Domain)}
	for name, value := range e.Vars {
		if out.Vars == nil {
			out.Vars = map[string]string{}
		}
		out.Vars[name] = plain.Replace(value)
	}
	return &out
}
