package member

import (
	"errors"
	"math/rand/v2"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent"
	"fettle.dev/fettle/internal/host/mem"
)

// Keys are read at each verification. A file without keys, or an unreadable file, is an error and
// never means "no signatures".
func TestSignersAreReadEachTime(t *testing.T) {
	var text []byte
	var fails error
	files := mem.NewFS(mem.Options{})
	if err := errors.Join(files.Mkdir("/agent", 0o700), files.SyncDir("/")); err != nil {
		t.Fatal(err)
	}
	m := &Member{cfg: Config{Files: files, Dir: "/agent", Signers: func() ([]byte, error) { return text, fails }}}
	look := func(what string, asks, wrong bool) {
		t.Helper()
		s, err := m.signers()
		if (err != nil) != wrong || err == nil && (s != nil) != asks {
			t.Errorf("%s: %v, %v", what, s, err)
		}
	}
	look("no file", false, false)
	key := []byte("a@b ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBgoyuB2eq1mEFU/GXQ6eZMCiUgiL+Pe3xXz5Eg5dNmB\n")
	text = key
	look("a key", true, false)
	text = []byte{}
	look("nobody", true, true)
	text = []byte("rubbish\n")
	look("rubbish", true, true)
	text, fails = nil, errors.New("permission denied")
	look("no access", true, true)
	text, fails = nil, nil
	look("the file is gone", true, true)
	if _, err := m.signers(); !errors.Is(err, errSignersGone) {
		t.Error(err)
	}
	if err := m.believe(t.Context(), nil, fleet.Assignment{}); !errors.Is(err, agent.ErrNever) {
		t.Errorf("content is not refused: %v", err)
	}
	// The requirement survives restarts and crashes.
	m = &Member{cfg: m.cfg}
	m.cfg.Files = files.CrashClone(rand.New(rand.NewPCG(1, 2)))
	look("the file is gone, and the agent is new", true, true)
	text = key
	look("it is back", true, false)
	text = nil
	if err := m.cfg.Files.Remove("/agent/" + requiredFile); err != nil {
		t.Fatal(err)
	}
	look("an operator consents", false, false)
	if s, err := (&Member{}).signers(); s != nil || err != nil {
		t.Errorf("nothing is said: %v, %v", s, err)
	}
}
