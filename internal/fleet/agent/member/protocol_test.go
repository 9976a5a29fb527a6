package member

import (
	"testing"

	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/host/mem"
)

// The reason of a refusal is stored until a hub accepts the agent, and is written only when it
// changes.
func TestNoteProtocol(t *testing.T) {
	files := mem.NewFS(mem.Options{})
	if err := files.Mkdir("/agent", 0o700); err != nil {
		t.Fatal(err)
	}
	m := &Member{cfg: Config{Files: files, Dir: "/agent", Warn: func(text string) { t.Error(text) }}}
	old := &bus.VersionError{Agent: bus.Versions{Oldest: 1, Newest: 2}, Hub: bus.Versions{Oldest: 3, Newest: 4}}
	newer := &bus.VersionError{Agent: bus.Versions{Oldest: 1, Newest: 2}, Hub: bus.Versions{Oldest: 4, Newest: 5}}
	for _, e := range []*bus.VersionError{nil, old, old, newer, nil, nil} {
		m.noteProtocol(e)
		got, err := ReadProtocol(files, "/agent")
		if err != nil || (got == nil) != (e == nil) || e != nil && *got != *e {
			t.Fatalf("%v instead of %v, %v", got, e, err)
		}
	}
}
