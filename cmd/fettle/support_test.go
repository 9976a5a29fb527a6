package main

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fettle.dev/fettle/test/gobuild"
)

// A secret in every possible place: current and desired contents, commands, their environment and
// output, lines of accounts, edited lines, variables, and the history.
const planted = `
target "a" {}
variable "password" { type = string }
file "/srv/app.conf" { content = "token = SECRET-wanted" }
file "/srv/var.conf" { content = var.password }
exec "migrate" {
  command = ["/bin/fettle", "SECRET-output"] # says that there is no such command
  env     = { API = "SECRET-environment" }
  after   = [file["/srv/app.conf"]]
}
`

// TestSupportBundle plants secrets and finds none of them in the bundle.
func TestSupportBundle(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "fettle")
	if err := gobuild.Program(bin, gobuild.Fettle); err != nil { // static: it runs in an empty root too
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	fettle := func(args ...string) string {
		t.Helper()
		// The program is a file of the repository, and a large one.
		cmd := exec.Command(bin, append([]string{"--root", filepath.Join(dir, "root"), "--max-file-size", "256MiB"},
			args...)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "TOKEN=SECRET-ours")
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	write("fettle.hcl", planted)
	write("root/srv/app.conf", "token = SECRET-before\n")
	write("root/etc/hosts", "127.0.0.1 SECRET-line\n")
	write("root/etc/passwd", "root:x:0:0:SECRET-comment:/root:/bin/sh\n")
	write("root/etc/shadow", "root:SECRET-hash:1:0:99999:7:::\n")
	write("root/etc/group", "root:x:0:\n")
	write("x.steps", "EDIT /etc/hosts line=\"10.0.0.1 SECRET-edit\"\nEXEC \"curl SECRET-name\" true env=A=SECRET-step undo=true\n")
	if err := os.CopyFS(filepath.Join(dir, "root/bin"), os.DirFS(filepath.Dir(bin))); err != nil {
		t.Fatal(err)
	}
	if out := fettle("apply", "--yes", "--var", "password=SECRET-variable"); os.Geteuid() == 0 &&
		!strings.Contains(out, "SECRET-output") {
		t.Fatalf("the secrets of the run were never there:\n%s", out)
	}
	t.Log(fettle("steps", "apply", "--yes", "x.steps"))
	fettle("freeze", "--reason", "SECRET-reason")

	file := filepath.Join(dir, "bundle.tar.gz")
	if out := fettle("support-bundle", "-o", file); !strings.Contains(out, "Wrote ") {
		t.Fatal(out)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	texts := unpack(t, file)
	for name, text := range texts {
		if strings.Contains(text, "SECRET") {
			t.Errorf("%s holds a secret:\n%s", name, text)
		}
		if strings.HasSuffix(name, ".json") && !json.Valid([]byte(text)) {
			t.Errorf("%s is no JSON", name)
		}
	}
	for _, name := range []string{"README", "version.json", "status.json", "log.json", "runs/000001.json",
		"journals.json", "facts.json"} {
		if texts["fettle-support/"+name] == "" {
			t.Errorf("there is no %s", name)
		}
	}
	for name, says := range map[string]string{"runs/000001.json": "/srv/app.conf", "journals.json": `"begin": 1`,
		"README": "Omitted data", "log.json": `"failed": true`} {
		if !strings.Contains(texts["fettle-support/"+name], says) {
			t.Errorf("%s does not say %q:\n%s", name, says, texts["fettle-support/"+name])
		}
	}
	if out := fettle("support-bundle", "-o", file); !strings.Contains(out, "it already exists") {
		t.Errorf("it writes over a file: %s", out)
	}
}

func unpack(t *testing.T, file string) map[string]string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		out[h.Name] = string(text)
	}
}
