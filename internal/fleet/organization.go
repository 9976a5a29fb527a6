package fleet

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// Organization is the path of an organization, such as acme/search. "" is the whole fleet.
type Organization string

// The limits of the path of an organization.
const (
	MaxOrganizationDepth = 8
	maxOrganizationPart  = 64 // bytes
)

var organizationPart = sync.OnceValue(
	func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$`) })

// Check returns an error unless the path is valid.
func (o Organization) Check() error {
	if o == "" {
		return nil
	}
	parts := strings.Split(string(o), "/")
	valid := len(parts) <= MaxOrganizationDepth
	for _, p := range parts {
		valid = valid && len(p) <= maxOrganizationPart && organizationPart().MatchString(p)
	}
	if !valid {
		return fmt.Errorf("cannot use %.80q as an organization: it has up to %d names with / between them, "+
			"each of up to %d letters, digits and -", string(o), MaxOrganizationDepth, maxOrganizationPart)
	}
	return nil
}

// Contains reports whether another organization is this one or below it. The whole fleet contains every organization.
func (o Organization) Contains(other Organization) bool {
	return o == "" || o == other || strings.HasPrefix(string(other), string(o)+"/")
}

// Common returns the smaller of two organizations if one contains the other. Otherwise ok is false.
func (o Organization) Common(other Organization) (common Organization, ok bool) {
	switch {
	case o.Contains(other):
		return other, true
	case other.Contains(o):
		return o, true
	}
	return "", false
}
