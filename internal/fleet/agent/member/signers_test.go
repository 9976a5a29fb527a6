package member

import (
	"errors"
	"testing"
)

// Keys are read whenever they are asked for; a file that is there and believes nobody, or
// cannot be read, is a mistake and never "no signatures".
func TestSignersAreReadEachTime(t *testing.T) {
	var text []byte
	var fails error
	m := &Member{cfg: Config{Signers: func() ([]byte, error) { return text, fails }}}
	look := func(what string, asks, wrong bool) {
		t.Helper()
		s, err := m.signers()
		if (err != nil) != wrong || err == nil && (s != nil) != asks {
			t.Errorf("%s: %v, %v", what, s, err)
		}
	}
	look("no file", false, false)
	text = []byte("a@b ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBgoyuB2eq1mEFU/GXQ6eZMCiUgiL+Pe3xXz5Eg5dNmB\n")
	look("a key", true, false)
	text = []byte{}
	look("nobody", true, true)
	text = []byte("rubbish\n")
	look("rubbish", true, true)
	text, fails = nil, errors.New("permission denied")
	look("no access", true, true)
	text, fails = nil, nil
	look("the file is gone", false, false)
	if s, err := (&Member{}).signers(); s != nil || err != nil {
		t.Errorf("nothing is said: %v, %v", s, err)
	}
}
