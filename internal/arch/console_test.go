package arch

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fettle.dev/fettle/test/gobuild"
)

// TestConsole runs what the documents show. In a block marked "console" lines
// that begin with "$ " are typed into a shell, "> " goes on with the line
// before, and what follows is the output, with "(ends with N)" where the exit
// code is not 0. Each document begins in an empty home directory. -update
// rewrites the output; read the difference like code.
func TestConsole(t *testing.T) {
	bin := t.TempDir()
	if err := gobuild.Program(filepath.Join(bin, "fettle"), gobuild.Fettle); err != nil {
		t.Fatal(err)
	}
	docs, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range docs {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "\n```console\n") {
			continue
		}
		t.Run(filepath.Base(doc), func(t *testing.T) { consoles(t, doc, string(text), bin) })
	}
}

func consoles(t *testing.T, doc, text, bin string) {
	sh := newShell(t, bin)
	got := regexp.MustCompile("(?s)\n```console\n.*?\n```").ReplaceAllStringFunc(text, sh.block)
	if *update && steady(got) != steady(text) {
		if err := os.WriteFile(doc, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, have := strings.Split(steady(text), "\n"), strings.Split(steady(got), "\n")
	for i := range min(len(want), len(have)) {
		if want[i] != have[i] {
			t.Fatalf(
				"%s, line %d, says\n  %s\nbut it is\n  %s\nSee whether that is meant, then: go test ./internal/arch -update", doc,
				i+1,
				want[i], have[i])
		}
	}
	if len(want) != len(have) {
		t.Fatalf("%s shows %d lines, and there are %d", doc, len(want), len(have))
	}
}

// unsteady parts of an output differ from one time and machine to the next.
var unsteadyParts = []struct{ find, put string }{
	{`sha256:[0-9a-f…]{8,}`, "DIGEST"},
	{`\b[0-9a-f]{7,64}\b`, "COMMIT"},
	{`\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?( ?[+-]\d{4}|Z| UTC)?`, "TIME"},
	{`\b\d\d:\d\d(:\d\d)?\b`, "TIME"},
	{`\b\d+(\.\d+)?(ms|s|µs)\b`, "DURATION"},
	{`pid \d+`, "PID"},
	{`\bage1[0-9a-z]{58}\b`, "KEY"},
	{`<ada@[^>]*>`, "<ADA>"},
	{` +`, " "},
}

func steady(text string) string {
	for _, p := range unsteadyParts {
		text = regexp.MustCompile(p.find).ReplaceAllString(text, p.put)
	}
	return text
}

// shell types commands in a home directory of its own.
type shell struct {
	t             *testing.T
	bin, home, at string
}

func newShell(t *testing.T, bin string) *shell {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &shell{t, bin, home, home}
}

// block types the commands of one block, fence included, and gives it with the
// output that they have now.
func (s *shell) block(text string) string {
	var out strings.Builder
	lines := strings.Split(strings.TrimSuffix(strings.TrimPrefix(text, "\n```console\n"), "\n```"), "\n")
	for i := 0; i < len(lines); i++ {
		first, ok := strings.CutPrefix(lines[i], "$ ")
		if !ok {
			continue
		}
		command := first
		fmt.Fprintf(&out, "$ %s\n", first)
		for i+1 < len(lines) && strings.HasPrefix(lines[i+1], "> ") {
			i++
			command += "\n" + lines[i][2:]
			fmt.Fprintln(&out, lines[i])
		}
		out.WriteString(s.run(command))
	}
	return "\n```console\n" + strings.TrimSuffix(out.String(), "\n") + "\n```"
}

// run gives what one command prints on both streams, and its exit code.
func (s *shell) run(command string) string {
	where := filepath.Join(s.t.TempDir(), "where")
	cmd := exec.Command("bash", "-c", command+"\ncode=$?; pwd >"+where+"; exit $code")
	cmd.Dir = s.at
	cmd.Env = []string{
		"PATH=" + s.bin + ":/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME=" + s.home, "LANG=C.UTF-8", "TZ=UTC",
		"NO_COLOR=1",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.org", "GIT_COMMITTER_NAME=Ada",
		"GIT_COMMITTER_EMAIL=ada@example.org",
		"USER=ada", "LOGNAME=ada",
	}
	b, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatalf("%s: %v", command, err)
	}
	if at, err := os.ReadFile(where); err == nil {
		s.at = strings.TrimSpace(string(at))
	}
	out := strings.ReplaceAll(string(b), s.home, "/home/ada")
	if out != "" && !strings.HasSuffix(out, "\n") {
		out += "\n"
	}
	if exit != nil {
		out += fmt.Sprintf("(ends with %d)\n", exit.ExitCode())
	}
	return out
}
