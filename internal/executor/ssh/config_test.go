package ssh

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// readAll gives what a configuration of a home and a machine is read as.
func readAll(home, etc string, env map[string]string) (string, error) {
	var sum bytes.Buffer
	c := config{sum: &sum, env: env, home: home, most: maxConfig}
	err := c.files(etc)
	return sum.String(), err
}

func put(t *testing.T, name, text string) {
	t.Helper()
	mustDo(t, errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)))
}

// TestConfigChanges: whatever is changed in what ssh reads is seen, wherever it stands.
func TestConfigChanges(t *testing.T) {
	home, etc := t.TempDir(), t.TempDir()
	env := map[string]string{"KEYS": "a", "OTHER": "a"}
	seen := map[string]string{}
	look := func(what string) {
		t.Helper()
		got, err := readAll(home, etc, env)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if again, _ := readAll(home, etc, env); again != got {
			t.Errorf("%s: it is read in two ways", what)
		}
		if before, ok := seen[got]; ok {
			t.Errorf("%s is the same as %s", what, before)
		}
		seen[got] = what
	}
	look("nothing")
	put(t, filepath.Join(home, ".ssh/config"),
		"# mine\nInclude more/* ~/there \"~/quoted\"\n  include=other\r\nMatch host web1 user ann\n")
	look("one of a person")
	put(t, filepath.Join(etc, "ssh_config"), "Include ssh_config.d/*.conf\nCanonicalizeHostname no\n")
	look("one of the machine")
	for _, name := range []string{".ssh/more/a", ".ssh/more/b", ".ssh/other", "there", "quoted"} {
		put(t, filepath.Join(home, name), "User ann\n")
		look(name)
		put(t, filepath.Join(home, name), "User bob\n")
		look(name + ", changed")
	}
	put(t, filepath.Join(etc, "ssh_config.d/a.conf"), "Include "+filepath.Join(etc, "deep")+"\nIdentityFile ${KEYS}/id\n")
	look("what the machine's includes")
	put(t, filepath.Join(etc, "deep"), "Port 23\n")
	look("and what that includes")
	env["KEYS"] = "b"
	look("a variable")
	delete(env, "KEYS")
	look("none")
	env["OTHER"] = "b"
	if got, err := readAll(home, etc, env); err != nil || seen[got] != "none" {
		t.Errorf("a variable that nobody names counts: %v", err)
	}
}

// TestConfigUnsteady: what may decide otherwise the next time, with the same text, is told.
func TestConfigUnsteady(t *testing.T) {
	for _, text := range []string{
		"Match exec \"at-work\"\n", "match host x !exec=at-work\n", "\"Match\" exec x\n", "  Match=EXEC x\n",
		"Match localnetwork 10.0.0.0/8\n",
		"CanonicalizeHostname yes\n", "canonicalizehostname=always\n", "CanonicalizeHostname\n",
		"Include ~ann/config\n", "Include ${HOME}/config\n", "Include %d/config\n", "Include \"a b\"\n", "Include [ab]\n",
		"Include a\\ b\n", "Include {a,b}\n",
		"Include config\n", // itself, without end
	} {
		home := t.TempDir()
		put(t, filepath.Join(home, ".ssh/config"), "Host *\n"+text)
		if _, err := readAll(home, t.TempDir(), nil); !errors.Is(err, errUnsteady) {
			t.Errorf("%q: %v", text, err)
		}
	}
	home := t.TempDir()
	mustDo(t, os.MkdirAll(filepath.Join(home, ".ssh/config"), 0o700))
	if _, err := readAll(home, t.TempDir(), nil); err == nil {
		t.Error("what cannot be read is taken for nothing")
	}
}
