package step

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

var lockForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][-_A-Za-z0-9]{0,62}$`) })

// rules checks the rules of a verb for its line as a whole. It is called if every word by itself is
// valid.
func (c *checker) rules(s *Step, tokens []token) {
	c.phaseRule(s, tokens)
	c.lockRule(s, tokens)
	switch s.Verb {
	case Copy, Link:
		c.lastSlash(tokens, 1)
	case Meta, Unit:
		c.saysSomething(s)
	case Sysctl:
		if _, ok := s.Lookup("value"); !ok {
			c.fault(wholeLine, "Missing attribute", "SYSCTL needs value=…, the value at run time.")
		}
	case Edit:
		c.editRules(s, tokens)
	case User:
		c.passwordRule(s, tokens)
	case Exec:
		if s.Args[1] == "" {
			c.fault(1, "Empty subject", "The program is empty. Write its name or path.")
		}
		c.positive(s, tokens)
		c.outputRule(s, tokens)
	case Act:
		c.actRules(s, tokens)
	case Wait, Check:
		c.positive(s, tokens)
		c.probeRules(s, tokens)
	}
}

// lastSlash refuses "COPY file /dir/", which in a shell would copy into it.
func (c *checker) lastSlash(tokens []token, i int) {
	if p := tokens[i].text; strings.HasSuffix(p, "/") {
		c.fault(i, "Path of a directory",
			"%q ends with a slash, and a file or link needs its complete path. Write the name at the end.", clip(p))
	}
}

func (c *checker) saysSomething(s *Step) {
	if !slices.ContainsFunc(s.Attrs, func(a Attr) bool { return a.Key != phase.Name && a.Key != LockKey }) {
		c.fault(wholeLine, "Missing attribute", "%s has no attributes. Add one of %s.", s.Verb,
			strings.Join(shapes[string(s.Verb)].keyNames(), ", "))
	}
}

// positive refuses a limit of no time at all.
func (c *checker) positive(s *Step, tokens []token) {
	if s.Get("timeout") == "0s" {
		c.fault(find(tokens, "timeout"), "Invalid duration",
			"A timeout of zero would end the command immediately. Write a duration such as 30s, or omit timeout for the default of 5m.")
	}
}

// find is the index of the token with that key, wholeLine when there is none.
func find(tokens []token, key string) int {
	return slices.IndexFunc(tokens, func(t token) bool { return t.key == key })
}

// firstTwo are the first keys of these that the step has, "" where there is none.
func firstTwo(s *Step, keys ...string) (first, second string) {
	for _, k := range keys {
		if _, ok := s.Lookup(k); !ok {
			continue
		}
		if first != "" {
			return first, k
		}
		first = k
	}
	return first, ""
}

// onlyWith refuses keys that have no meaning without another key.
func (c *checker) onlyWith(s *Step, tokens []token, main string, keys ...string) {
	for _, k := range keys {
		if _, ok := s.Lookup(k); ok {
			c.fault(find(tokens, k), "Attribute without effect", "%s has an effect only with %s, which this %s does not have.",
				k, main, s.Verb)
		}
	}
}

func (c *checker) editRules(s *Step, tokens []token) {
	absent := s.Absent()
	region, other := firstTwo(s, "block", "key", "line")
	_, match := s.Lookup("match")
	switch {
	case other != "":
		c.fault(find(tokens, other), "More than one region",
			"EDIT changes one region of a file, and this step names %s and %s. Write a step for each.", region, other)
		return
	case region == "" && !match:
		c.fault(wholeLine, "Missing region",
			"EDIT needs exactly one of block, key and line, which name the region that it owns.")
		return
	case region == "" && !absent:
		c.fault(find(tokens, "match"), "Missing line",
			"match finds the line to replace; line=… is the new line. Add line, or ensure=absent to remove the matching lines.")
		return
	case region == "":
		region = "match"
	case s.Get(region) == "" && region != "line":
		c.fault(find(tokens, region), "Empty name",
			"The %s has no name. Write a name: with it, fettle finds the region again.", region)
	}
	c.editKeys(s, tokens, region, absent)
}

// editKeys checks the attributes that belong to the region.
func (c *checker) editKeys(s *Step, tokens []token, region string, absent bool) {
	if region != "block" {
		c.onlyWith(s, tokens, "block", "content", "comment")
	}
	if region != "key" {
		c.onlyWith(s, tokens, "key", "value", "separator", "format")
	} else if _, ok := s.Lookup("value"); !ok && !absent {
		c.fault(wholeLine, "Missing attribute", "EDIT with key needs value=…, or ensure=absent.")
	}
	if _, secret := s.Secret(); secret && region == "line" && !match(s) {
		c.fault(find(tokens, "line"), "Secret line without match",
			"The next value of the secret must replace this line. Add match=…, an expression that finds the line.")
	}
	if region != "line" && region != "match" {
		c.onlyWith(s, tokens, "line", "match")
	}
	if _, ok := s.Lookup("format"); ok && region == "key" {
		c.documentRules(s, tokens, absent)
	}
	for _, k := range [...]string{"block", "key", "line", "value", "comment", "separator"} {
		if strings.ContainsAny(s.Get(k), "\n\r") {
			c.fault(find(tokens, k), "Line break in a line",
				"%s must stay on one line. For several lines use block=NAME content=…", k)
		}
	}
}

func match(s *Step) bool {
	_, ok := s.Lookup("match")
	return ok
}

// passwordRule requires a reference: many users can read a list, and a hash is only as strong as
// its password.
func (c *checker) passwordRule(s *Step, tokens []token) {
	_, given := s.Lookup("password")
	if _, is := s.Secret(); given && !is {
		c.fault(find(tokens, "password"), "Password in the open",
			"A list cannot contain the hash of a password. Set the password with the kind user and secret(\"…\").")
	}
}

func (c *checker) actRules(s *Step, tokens []token) {
	c.positive(s, tokens)
	if s.Args[0] == "run" {
		if len(s.Args) < 3 || s.Args[2] == "" {
			c.fault(wholeLine, "Missing command", "ACT run needs a name and a command: ACT run NAME ARGV….")
		}
		return
	}
	if len(s.Args) > 2 {
		c.fault(2, "Too many subjects", "ACT %s takes only a unit; for a command use ACT run NAME ARGV….", s.Args[0])
	}
	if why := UnitName.refuse(s.Args[1]); why != "" {
		c.fault(1, UnitName.summary(), "%s", why)
	}
}

func (c *checker) probeRules(s *Step, tokens []token) {
	ways := []string{"http", "tcp", "exec", "unit", "file"}
	if s.Verb == Wait {
		ways = append(ways, "barrier", "signal", "send")
	}
	last := len(ways) - 1
	way, other := firstTwo(s, ways...)
	switch {
	case way == "":
		c.fault(wholeLine, "Missing probe", "%s needs exactly one of %s and %s, its condition.", s.Verb,
			strings.Join(ways[:last], ", "), ways[last])
		return
	case other != "":
		c.fault(find(tokens, other), "More than one probe",
			"%s has one condition, and this step names %s and %s. Write a step for each.", s.Verb, way, other)
		return
	}
	if way != "http" {
		c.onlyWith(s, tokens, "http", "status")
	}
	c.fleetRules(s, tokens, way)
	if way == "unit" {
		c.onlyWith(s, tokens, "http, tcp, exec and file", "contains")
	}
	if v, ok := s.Lookup("status"); ok && (len(v) != 3 || v < "100" || v > "599") {
		c.fault(find(tokens, "status"), "Invalid status", "%q is not a status of HTTP. Write a number from 100 to 599.",
			clip(v))
	}
}

// lockRule refuses names that hubs cannot use, and more locks than a run can acquire.
func (c *checker) lockRule(s *Step, tokens []token) {
	names := s.All(LockKey)
	if len(names) > MaxLocks {
		c.fault(find(tokens, LockKey), "Too many locks", "A step can need up to %d locks.", MaxLocks)
	}
	for _, name := range names {
		if !lockForm().MatchString(name) {
			c.fault(find(tokens, LockKey), "Bad name for a lock",
				"%q is not a valid name. Use up to 63 letters, digits, _ and -, and begin with a letter.", clip(name))
		}
	}
}

// CheckLocks returns an error for a name of a lock that hubs cannot use, and for more locks than a run can acquire.
func CheckLocks(names []string) error {
	for _, name := range names {
		if !lockForm().MatchString(name) {
			return fmt.Errorf("%q is not a valid name: it has up to 63 letters, digits, _ and -, and begins with a letter",
				clip(name))
		}
	}
	if len(names) > MaxLocks {
		return fmt.Errorf("a run can need up to %d locks, and these are %d", MaxLocks, len(names))
	}
	return nil
}

// fleetRules checks the conditions of a WAIT that concern the fleet.
func (c *checker) fleetRules(s *Step, tokens []token, way string) {
	fleet := way == "barrier" || way == "signal" || way == "send"
	if fleet {
		c.onlyWith(s, tokens, "http, tcp, exec and file", "contains")
		if !lockForm().MatchString(s.Get(way)) {
			c.fault(find(tokens, way), "Invalid name",
				"%q is not the name of a barrier or signal: up to 63 letters, digits, _ and -, beginning with a letter.",
				clip(s.Get(way)))
		}
	}
	if way != "signal" {
		c.onlyWith(s, tokens, "signal", "since")
	}
	if way != "send" {
		c.onlyWith(s, tokens, "send", "payload")
	}
	if v, ok := s.Lookup("since"); ok && way == "signal" && v != "run" {
		c.fault(find(tokens, "since"), "Invalid value", "%q is not a value of since. Write run, or omit since.", clip(v))
	}
	if v := s.Get("payload"); len(v) > maxPayload {
		c.fault(find(tokens, "payload"), "Payload is too long", "The payload has %d bytes. The maximum is %d.", len(v),
			maxPayload)
	}
}

// maxPayload is the maximum size of the payload of a signal, in bytes.
const maxPayload = 4096
