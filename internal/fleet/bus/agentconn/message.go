package agentconn

import (
	"strings"

	"fettle.dev/fettle/internal/fleet"
)

// Message is what comes under a subject.
type Message struct {
	Subject string
	Reply   string // where the sender hears an answer, "" where it does not
	Body    []byte // the receiver's
	// Nobody says that this is no answer: nobody hears the subject of the question.
	Nobody bool
}

// Up is a subject that an agent sends under.
func Up(id fleet.TargetID, rest string) string { return "f." + string(id) + ".up." + rest }

// Down is a subject that an agent hears.
func Down(id fleet.TargetID, rest string) string { return "f." + string(id) + ".down." + rest }

// ends are the two prefixes of the subjects of one agent.
type ends struct{ up, down string }

func endsOf(id fleet.TargetID) ends { return ends{Up(id, ""), Down(id, "")} }

// targetOf is whose a subject is.
func targetOf(subject string) fleet.TargetID {
	rest, _ := strings.CutPrefix(subject, "f.")
	id, _, _ := strings.Cut(rest, ".")
	return fleet.TargetID(id)
}

// isPlain tells whether a text is a subject that is said: parts of letters, digits and -, with
// dots between them. One that is listened to may have others.
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

// covers tells whether what is listened to covers a subject: * is one part, and > all of
// the rest.
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
