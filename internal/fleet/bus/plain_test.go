package bus

import (
	"strings"
	"testing"
)

// The log has no messages of the NATS server that an operator cannot use.
func TestPlainMessages(t *testing.T) {
	for text, want := range map[string]string{
		"Critical write error: write x: no space left on device": "the store cannot write its files: no space left on device",
		"JetStream out of space, will be DISABLED":               "the store cannot write its files, and stops",
		"JetStream cluster no metadata leader":                   "the store has no leader",
		"JetStream cluster consumer 'A > B > C' has NO quorum":   "the store has no leader",
		"127.0.0.1:1 - rid:1 - Stale Connection":                 "another hub did not answer",
		"something else":                                         "something else",
	} {
		if got := plain(text); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", text, got)
		}
	}
	var said []string
	s := &Server{config: Config{Warn: func(text string) { said = append(said, text) }}, ended: make(chan string, 1)}
	log := sayings{s}
	log.Errorf("Error trying to connect to route (attempt %d): %s", 1, "remote error: tls: bad certificate")
	log.Errorf("Error trying to connect to route (attempt %d): %s", 2, "remote error: tls: bad certificate")
	log.Errorf("Error trying to connect to route (attempt %d): %s", 1, "connection refused")
	log.Warnf("Filestore [LOG_events] Stream state encountered internal inconsistency on write")
	if len(said) != 2 || !strings.Contains(said[0], "whether this hub was retired") ||
		strings.Contains(said[1], "retired") {
		t.Errorf("%q", said)
	}
}
