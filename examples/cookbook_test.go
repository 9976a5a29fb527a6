package examples

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const cookbookPage = "../docs/cookbook.md"

// shown is a block of the page, with the file that it shows in the marker before it.
var shown = regexp.MustCompile("(?s)<!-- file: (\\S+) -->\n```([a-z]*)\n.*?\n```")

// TestCookbookPage compares the code on the page with the recipes. -update copies it to the page.
func TestCookbookPage(t *testing.T) {
	page, err := os.ReadFile(cookbookPage)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]bool{}
	got := shown.ReplaceAllStringFunc(string(page), func(block string) string {
		part := shown.FindStringSubmatch(block)
		text, err := os.ReadFile(filepath.Join("cookbook", part[1]))
		if err != nil {
			t.Error(err)
			return block
		}
		files[part[1]] = true
		return "<!-- file: " + part[1] + " -->\n```" + part[2] + "\n" + strings.TrimRight(string(text), "\n") + "\n```"
	})
	if *update {
		err = os.WriteFile(cookbookPage, []byte(got), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !*update && got != string(page) {
		t.Errorf("%s does not show the recipes as they are. Run: go test ./examples -update", cookbookPage)
	}
	modules, _ := filepath.Glob("cookbook/*/modules/*/module.hcl")
	for _, m := range modules {
		recipe := strings.SplitN(strings.TrimPrefix(m, "cookbook/"), "/", 2)[0]
		if !files[strings.TrimPrefix(m, "cookbook/")] && !files[recipe+"/fettle.hcl"] {
			t.Errorf("%s does not show %s", cookbookPage, m)
		}
	}
}
