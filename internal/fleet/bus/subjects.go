package bus

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/agentconn"
)

var messageTypeForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`) })

// checkWord returns an error if the name of a request cannot be a part of a subject.
func checkWord(messageType string) error {
	if !messageTypeForm().MatchString(messageType) {
		return fmt.Errorf("cannot use %.40q as the name of a request: a name has up to 32 lower-case letters, digits and -",
			messageType)
	}
	return nil
}

var tokenForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9]{1,64}$`) })

// isToken returns true if a text is exactly one part of a subject.
func isToken(s string) bool { return tokenForm().MatchString(s) }

func upOf(id fleet.TargetID, rest string) string   { return agentconn.Up(id, rest) }
func downOf(id fleet.TargetID, rest string) string { return agentconn.Down(id, rest) }
func inboxOf(id fleet.TargetID) string             { return downOf(id, "r.") }

// senderOf returns the target that a subject of the form f.ID.up.… proves as its sender, and the
// rest of the subject.
func senderOf(subject string) (id fleet.TargetID, rest string, ok bool) {
	parts := strings.SplitN(subject, ".", 4)
	if len(parts) != 4 || parts[0] != "f" || parts[2] != "up" {
		return "", "", false
	}
	return fleet.TargetID(parts[1]), parts[3], true
}

// lastOf returns the last part of a subject.
func lastOf(subject string) string { return subject[strings.LastIndexByte(subject, '.')+1:] }

// mayAnswer returns true if reply is a subject below which a hub may answer this target.
func mayAnswer(id fleet.TargetID, reply string) bool {
	rest, ok := strings.CutPrefix(reply, inboxOf(id))
	self, n, both := strings.Cut(rest, ".")
	return ok && both && isToken(self) && isToken(n)
}
