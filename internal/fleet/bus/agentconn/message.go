package agentconn

import (
	"strings"

	"fettle.dev/fettle/internal/fleet"
)

// Message is a message of a subject.
type Message struct {
	Subject string
	Reply   string // the subject for an answer, "" for none
	Body    []byte // owned by the receiver
	// NoReceiver is true if the request has no receiver; the message is then not an answer.
	NoReceiver bool
}

// Up returns the subject of a message of an agent.
func Up(id fleet.TargetID, rest string) string { return "f." + string(id) + ".up." + rest }

// Down returns the subject of a message to an agent.
func Down(id fleet.TargetID, rest string) string { return "f." + string(id) + ".down." + rest }

// ends are the prefixes of the subjects of one agent.
type ends struct{ up, down string }

func endsOf(id fleet.TargetID) ends { return ends{Up(id, ""), Down(id, "")} }

// targetOf returns the target of a subject.
func targetOf(subject string) fleet.TargetID {
	rest, _ := strings.CutPrefix(subject, "f.")
	id, _, _ := strings.Cut(rest, ".")
	return fleet.TargetID(id)
}

// isPlain returns true if a text is a subject for sending: parts of letters, digits and -, with
// dots between them. A subscription may also have wildcards.
func isPlain(subject string) bool {
	if len(subject) > maxSubject {
		return false
	}
	part := 0
	for _, c := range []byte(subject) {
		switch {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-':
			part++
		case c == '.' && part > 0:
			part = 0
		default:
			return false
		}
	}
	return part > 0
}

// covers returns true if a pattern matches a subject: * matches one part, and > the whole rest.
func covers(pattern []string, subject string) bool {
	for i, p := range pattern {
		if p == ">" {
			return true
		}
		part, rest, more := strings.Cut(subject, ".")
		if p != "*" && p != part || more != (i < len(pattern)-1) {
			return false
		}
		subject = rest
	}
	return true
}
