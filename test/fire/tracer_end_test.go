package fire

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestTracerEnds kills a command while it starts others: whoever was just made
// and not yet reported ends as well, and is not left stopped for ever.
func TestTracerEnds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	shell, err := os.ReadFile("/bin/bash")
	if err != nil {
		t.Fatal(err)
	}
	dpkg := filepath.Join(dir, "dpkg") // its calls are counted
	if err := os.WriteFile(dpkg, shell, 0o755); err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf(`for i in {1..40}; do (: > %[1]s/$i) & (: > %[1]s/$i.b) & done; wait`, dir)
	for at := 1; at <= 120; at += 8 {
		for _, who := range []victim{everybody, onlyDpkg} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a stopped one would be waited for as long
			defer cancel()
			told, tell, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			tracer := exec.CommandContext(ctx, "/proc/self/exe", fmt.Sprint(at), string(who), filepath.Join(dir, "log"), dpkg,
				"-c", script)
			tracer.Env = append(os.Environ(), envTracer+"=1")
			tracer.ExtraFiles = []*os.File{tell}
			out, err := tracer.CombinedOutput()
			if err := errors.Join(err, tell.Close(), told.Close()); err != nil {
				t.Fatalf("killed at %d, %s: %v\n%s\n%s", at, who, err, out, traced(dir))
			}
		}
	}
}

// traced tells what runs of a directory's programs.
func traced(dir string) string {
	b, err := exec.Command("ps", "-eo", "pid,ppid,stat,args").Output()
	if err != nil {
		return err.Error()
	}
	var all []string
	for line := range strings.Lines(string(b)) {
		if strings.Contains(line, dir) {
			all = append(all, line)
		}
	}
	return strings.Join(all, "")
}
