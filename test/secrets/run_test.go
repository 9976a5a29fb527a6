package secrets

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// leaking has an action that says all that it was told, in several ways, and writes
// down the list of processes while it runs.
const leaking = `target "local" {}
action "leak" {
  param "typed" {
    type   = string
    secret = true
  }
  command = [
    ["sh", "-c", "echo \"$TOKEN $ODD $TYPED\"; env >&2; for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline; echo; done > SRV/list 2>&1; cat SRV/list"],
    ["sh", "-c", "printf %s \"$TYPED\" | base64 -w0; echo; printf %s \"$TOKEN\" | od -An -v -tx1 | tr -d ' \\n'; test \"$TYPED $TOKEN\" = \"$(cat SRV/wanted)\" && exit 3"],
  ]
  env = { TOKEN = secret("token"), ODD = secret("odd"), LINES = secret("lines"), TYPED = "Bearer ${param.typed}" }
}
command "leaks" {
  targets = ["local"]
  param "key" { secret = true }
  part "one" {
    action     = "leak"
    params     = { typed = param.key }
    max_failed = 1
  }
  part "two" {
    command = ["sh", "-c", "env; exit 3"]
    env     = { KEY = param.key }
  }
}
`

// TestNothingOfActionsShows: neither a secret of the repository nor one that was
// typed is in anything that an action or a command says or leaves.
func TestNothingOfActionsShows(t *testing.T) {
	s := newSite(t)
	for name, v := range planted() {
		s.ok(v, "secret", "set", name)
	}
	const typed = "typed-77aa91-otter"
	secrets := wanted()
	secrets["typed"] = typed
	s.write("fettle.hcl", leaking)
	s.must(os.WriteFile(filepath.Join(s.srv, "wanted"), []byte("Bearer "+typed+" "+planted()["token"]), 0o600))
	s.commit()
	for _, args := range [][]string{{"run", "leak", "typed=" + typed}, {"run", "leak", "typed=" + typed, "--json"},
		{"run", "-t", "loc*", "leak", "typed=" + typed, "-v"},
		{"run", "leaks", "key=" + typed}, {"run", "leaks", "key=" + typed, "--json"}} {
		if out, code := s.run("", args...); code == 0 || !strings.Contains(out, "(secret)") || !strings.Contains(out, "3") {
			t.Errorf("fettle %v: exit code %d\n%s", args, code, out)
		}
	}
	s.run("", "run", "leak", "typed="+typed, "--dry-run")
	s.run("", "run", "leaks", "key="+typed, "--dry-run", "--json")
	s.run("", "run", "leak", "typed="+typed, "typedd="+typed)
	for _, args := range [][]string{{"log"}, {"log", "--json"}, {"log", "--here"}, {"log", "--here", "--json"},
		{"show", "c1"}, {"show", "c2", "--json"}, {"show", "c4"}} {
		s.ok("", args...)
	}
	s.run("", "support-bundle", "-o", filepath.Join(s.home, "bundle.tar.gz"))

	leaks := leak("what was said", s.said.Bytes(), secrets)
	files := 0
	for _, dir := range []string{s.state, s.home, s.repo} {
		n, more := s.files(dir, secrets)
		files, leaks = files+n, append(leaks, more...)
	}
	list, err := os.ReadFile(filepath.Join(s.srv, "list"))
	s.must(err)
	for line := range strings.Lines(string(list)) {
		if !strings.HasPrefix(line, s.bin+" run ") { // it was typed there
			leaks = append(leaks, leak("the list of processes", []byte(line), secrets)...)
		}
	}
	for _, l := range leaks {
		t.Error(l)
	}
	if said := s.said.String(); strings.Count(said, "(secret)") < 20 ||
		strings.Count(said, "typed=…")+strings.Count(said, "key=…") < 4 || files < 10 {
		t.Errorf("too little was looked at to mean anything: %d files\n%s", files, said)
	}
}
