package bus

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/agentconn"
)

var wordForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`) })

// checkWord says what is wrong with a word that something is asked under.
func checkWord(word string) error {
	if !wordForm().MatchString(word) {
		return fmt.Errorf("cannot use %.40q as a word of the bus: it is up to 32 small letters, digits and -", word)
	}
	return nil
}

var tokenForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9]{1,64}$`) })

// isToken tells whether a text can be one part of a subject and nothing more.
func isToken(s string) bool { return tokenForm().MatchString(s) }

func upOf(id fleet.TargetID, rest string) string   { return agentconn.Up(id, rest) }
func downOf(id fleet.TargetID, rest string) string { return agentconn.Down(id, rest) }
func inboxOf(id fleet.TargetID) string             { return downOf(id, "r.") }

// senderOf is the target that a subject of the form f.ID.up.… proves, with what
// follows it.
func senderOf(subject string) (id fleet.TargetID, rest string, ok bool) {
	parts := strings.SplitN(subject, ".", 4)
	if len(parts) != 4 || parts[0] != "f" || parts[2] != "up" {
		return "", "", false
	}
	return fleet.TargetID(parts[1]), parts[3], true
}

// lastOf is the last part of a subject.
func lastOf(subject string) string { return subject[strings.LastIndexByte(subject, '.')+1:] }

// mayAnswer tells whether a hub may answer a target there.
func mayAnswer(id fleet.TargetID, reply string) bool {
	rest, ok := strings.CutPrefix(reply, inboxOf(id))
	self, n, both := strings.Cut(rest, ".")
	return ok && both && isToken(self) && isToken(n)
}
