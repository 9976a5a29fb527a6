package secrets

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"fettle.dev/fettle/test/gobuild"
	"fettle.dev/fettle/test/needs"
)

// site is a repository with secrets, and a machine that it is for: this one,
// with all that is managed in one directory.
type site struct {
	t                      *testing.T
	bin                    string
	home, repo, state, srv string
	cores                  string       // where commands leave their cores
	said                   bytes.Buffer // by every command
	heard                  int          // how much of it was there before the command under way
	commands               int
}

func newSite(t *testing.T) *site {
	t.Helper()
	needs.Root(t)
	dir := t.TempDir()
	s := &site{t: t, bin: filepath.Join(dir, "fettle"), home: filepath.Join(dir, "home"), repo: filepath.Join(dir, "repo"),
		state: filepath.Join(dir, "state"), cores: filepath.Join(dir, "cores")}
	srv, err := os.MkdirTemp("/tmp", "fettle-secrets-") // where a list may write without naming what is above
	s.must(err)
	s.srv = srv
	t.Cleanup(func() { s.must(os.RemoveAll(srv)) })
	for _, d := range []string{s.home, s.repo, s.cores} {
		s.must(os.Mkdir(d, 0o755))
	}
	s.must(gobuild.Program(s.bin, gobuild.Fettle))
	s.git("init", "-q", ".")
	s.write("fettle.hcl", "target \"local\" {}\n")
	s.ok("", "secret", "init")
	return s
}

func (s *site) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) git(args ...string) {
	s.t.Helper()
	c := exec.Command("git", append([]string{"-C", s.repo, "-c", "user.name=t", "-c", "user.email=t@example.org"},
		args...)...)
	if out, err := c.CombinedOutput(); err != nil {
		s.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func (s *site) write(name, text string) {
	s.t.Helper()
	s.must(os.MkdirAll(filepath.Dir(filepath.Join(s.repo, name)), 0o755))
	s.must(os.WriteFile(filepath.Join(s.repo, name), []byte(strings.ReplaceAll(text, "SRV", s.srv)), 0o644))
}

// commit makes the files a revision.
func (s *site) commit() {
	s.t.Helper()
	s.git("add", "-A")
	s.git("commit", "-q", "--allow-empty", "-m", "next")
}

func (s *site) command(stdin string, args ...string) *exec.Cmd {
	all := slices.Clone(args)
	if !slices.Contains(args, "--here") {
		all = append(all, "-C", s.repo)
		if args[0] != "secret" {
			all = append(all, "--state", s.state)
		}
	}
	c := exec.Command(s.bin, all...)
	c.Env = []string{"HOME=" + s.home, "PATH=" + os.Getenv("PATH"), "GOTRACEBACK=all", "USER=root"}
	c.Stdin = strings.NewReader(stdin)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return c
}

// run gives what a command said and its exit code, and remembers what it said.
func (s *site) run(stdin string, args ...string) (string, int) {
	s.t.Helper()
	out, err := s.command(stdin, args...).CombinedOutput()
	s.said.Write(out)
	s.commands++
	if err != nil {
		if e, is := err.(*exec.ExitError); is {
			return string(out), e.ExitCode()
		}
		s.t.Fatal(err)
	}
	return string(out), 0
}

func (s *site) ok(stdin string, args ...string) string {
	s.t.Helper()
	out, code := s.run(stdin, args...)
	if code != 0 {
		s.t.Fatalf("fettle %v: exit code %d\n%s", args, code, out)
	}
	return out
}

// fails wants an exit code other than 0, and a word in what is said: it must
// have come to the point.
func (s *site) fails(word string, args ...string) {
	s.t.Helper()
	if out, code := s.run("", args...); code == 0 || !strings.Contains(out, word) {
		s.t.Errorf("fettle %v: exit code %d, without %q\n%s", args, code, word, out)
	}
}

// forms are how a secret could show.
func forms(v string) map[string]string {
	out := map[string]string{"plain": v, "upper": strings.ToUpper(v), "hex": hex.EncodeToString([]byte(v)),
		"url": url.QueryEscape(v), "path": url.PathEscape(v),
		"quoted": strings.Trim(strconv.Quote(v), `"`), "shell": strings.ReplaceAll(v, "'", `'\''`)}
	j, _ := json.Marshal(v)
	out["json"] = strings.Trim(string(j), `"`)
	for i := range 3 { // base64 of anything that holds the value, wherever it begins
		b := base64.StdEncoding.EncodeToString(append(make([]byte, i), v...))
		out["base64 "+strconv.Itoa(i)] = b[4 : len(b)-4]
		out["base64url "+strconv.Itoa(i)] = strings.NewReplacer("+", "-", "/", "_").Replace(b[4 : len(b)-4])
	}
	return out
}

// leak looks for secrets in bytes, packed ones too.
func leak(where string, b []byte, secrets map[string]string) []string {
	var out []string
	for name, v := range secrets {
		for form, text := range forms(v) {
			if bytes.Contains(b, []byte(text)) {
				out = append(out, where+" has "+name+" ("+form+")")
			}
		}
	}
	if z, err := gzip.NewReader(bytes.NewReader(b)); err == nil {
		if inner, err := io.ReadAll(z); err == nil {
			out = append(out, leak(where+" unpacked", inner, secrets)...)
		}
	}
	if z, err := zip.NewReader(bytes.NewReader(b), int64(len(b))); err == nil {
		for _, f := range z.File {
			if r, err := f.Open(); err == nil {
				inner, _ := io.ReadAll(r)
				out = append(out, leak(where+": "+f.Name, inner, secrets)...)
			}
		}
	}
	tr := tar.NewReader(bytes.NewReader(b))
	for {
		h, err := tr.Next()
		if err != nil {
			return out
		}
		inner, _ := io.ReadAll(tr)
		out = append(out, leak(where+": "+h.Name, inner, secrets)...)
	}
}

// files looks at every file below a directory, and at its name.
func (s *site) files(dir string, secrets map[string]string) (n int, leaks []string) {
	s.t.Helper()
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() == "ballast" || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(p)
		n++
		leaks = append(leaks, leak(p, b, secrets)...)
		leaks = append(leaks, leak("the name of "+p, []byte(p), secrets)...)
		return err
	})
	s.must(err)
	return n, leaks
}

// until waits for a file.
func (s *site) until(path string) {
	s.t.Helper()
	s.await(path, func() bool {
		_, err := os.Stat(path)
		return err == nil
	})
}
