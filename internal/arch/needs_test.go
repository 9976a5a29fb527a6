package arch

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// skipped is a test that is skipped for want of root or of a program, by itself.
var skipped = regexp.MustCompile(`(?:Gete?uid\(\) != 0|exec\.LookPath\([^\n]*err != nil) \{\n\s*[\w.]*\.Skipf?\(`)

// Tests say what they need through test/needs, so that CI fails where it is missing.
func TestNeeds(t *testing.T) {
	for _, top := range []string{"cmd", "examples", "internal", "test"} {
		err := filepath.WalkDir(filepath.Join("../..", top), func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(p, ".go") {
				return err
			}
			text, err := os.ReadFile(p)
			if skipped.Match(text) {
				t.Errorf("%s skips a test for want of root or a program: use test/needs, so that CI notices", p)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
