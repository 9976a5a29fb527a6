package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fettle.dev/fettle/test/gobuild"
)

// hostile are repositories that could crash a compiler, with fettle's messages. "at" is the place.
func hostile() map[string]struct{ text, says, at string } {
	r := strings.Repeat
	const n = 30_000
	local := func(e string) string { return "locals {\n  a = " + e + "\n}\n" }
	bomb := func(seed, f string) string {
		text := "locals {\n  a0 = " + seed + "\n"
		for i := range 40 {
			text += fmt.Sprintf("  a%d = %s\n", i+1, strings.ReplaceAll(f, "X", fmt.Sprintf("local.a%d", i)))
		}
		return text + "}\nfile \"/x\" { content = jsonencode(local.a40) }\n"
	}
	return map[string]struct{ text, says, at string }{
		"brackets":    {local(r("[", n) + r("]", n)), "Too deeply nested", "fettle.hcl:3:"},
		"parentheses": {local(r("(", n) + "1" + r(")", n)), "Too deeply nested", "fettle.hcl:3:"},
		"not":         {local(r("!", n) + "true"), "Too deeply nested", "fettle.hcl:3:"},
		"minus":       {local(r("-", n) + "1"), "Too deeply nested", "fettle.hcl:3:"},
		"plus":        {local(r("1+", n) + "1"), "Too deeply nested", "fettle.hcl:3:"},
		"ternaries":   {local(r("true?1:", n) + "1"), "Too deeply nested", "fettle.hcl:3:"},
		"templates":   {local(r("\"${", n) + "1" + r("}\"", n)), "Too deeply nested", "fettle.hcl:3:"},
		"blocks":      {r("a{", n) + r("}", n), "Too deeply nested", "fettle.hcl:2:"},
		"indexes":     {local("b" + r("[0]", n)), "Too deeply nested", "fettle.hcl:3:"},
		"strings":     {bomb(`"xxxxxxxx"`, `"${X}${X}"`), "Text too long", "fettle.hcl:"},
		"tuples":      {bomb(`["x"]`, "[X, X]"), "Compiling took too", "fettle.hcl:"},
		"lists":       {bomb(`["x"]`, "concat(X, X)"), "Compiling took too", "fettle.hcl:"},
		"objects":     {bomb(`{ k = "x" }`, "{ l = X, r = X }"), "Compiling took too", "fettle.hcl:"},
		"range":       {"file \"x\" {\n  for_each = toset([for i in range(0, 1000000000) : \"${i}\"])\n  path = each.key\n  content = \"\"\n}\n", "range", "fettle.hcl:3:"},
		"loops":       {local("[for a in range(1000) : [for b in range(1000) : [for c in range(1000) : \"${a}${b}${c}\"]]]") + "file \"/x\" { content = jsonencode(local.a) }\n", "Compiling took too", "fettle.hcl:3:"},
		"recursion": {"file \"/x\" { content = templatefile(\"t.tmpl\", {}) }\n", "",
			"t.tmpl"}, // its depth or its time limit ends it, in any order
		"width": {"file \"/x\" { content = format(\"%0999999999999s\", \"x\") }\n", "width", "fettle.hcl:2:"},
		"json": {"file \"/x\" { content = jsonencode(jsondecode(\"" + r("[", n) + r("]", n) + "\")) }\n", "levels",
			"fettle.hcl:2:"},
	}
}

// A hostile repository is a diagnostic with its place and exit code 1. The
// process that holds the repository stays small.
func TestHostile(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "fettle")
	if err := gobuild.Program(bin, gobuild.Fettle); err != nil {
		t.Fatal(err)
	}
	for name, h := range hostile() {
		t.Run(name, func(t *testing.T) {
			out, code := compileHostile(t, bin, h.text)
			if code != 1 || !strings.Contains(out, h.says) || !strings.Contains(out, "--> "+h.at) {
				t.Errorf("exit code %d, want 1, %q and %q:\n%.1500s", code, h.says, h.at, out)
			}
		})
	}
}

// A regular expression cannot blow up: the engine is linear.
func TestRegex(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "fettle")
	if err := gobuild.Program(bin, gobuild.Fettle); err != nil {
		t.Fatal(err)
	}
	text := "file \"/x\" { content = replace(\"" + strings.Repeat("a", 10_000) + "\", \"/(a*)*(a*)*b/\", \"\") }\n"
	if out, code := compileHostile(t, bin, text); code != 0 {
		t.Errorf("exit code %d:\n%.500s", code, out)
	}
}

func compileHostile(t *testing.T, bin, text string) (string, int) {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{"fettle.hcl": "target \"a\" {}\n" + text,
		"t.tmpl": `${templatefile("t.tmpl", {})}${templatefile("t.tmpl", {})}`}
	for file, text := range files {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// A time long enough to reach the place, and memory to be told apart from it.
	cmd := exec.Command(bin, "compile", "--compile-timeout", "3s", "--compile-memory", "384MiB")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOTRACEBACK=none")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	// The children's memory is counted too: it has its limit, and the parent's
	// is below.
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok && usage.Maxrss > 500<<10 {
		t.Errorf("it took %d MiB", usage.Maxrss>>10)
	}
	return string(out), cmd.ProcessState.ExitCode()
}
