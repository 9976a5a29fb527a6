package web_test

import (
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/test/fakehub"
)

// TestCommandsCanBeCopied: the command of a page runs nothing else, although a link of another user has its words.
func TestCommandsCanBeCopied(t *testing.T) {
	const word = `a'$(touch${IFS}made);"` + "`touch${IFS}made`" + `;touch${IFS}made;'#\`
	s := siteOf(t, fakehub.Large{N: 3})
	page := read(s, "/?select="+url.QueryEscape(word+" b")).Body.String()
	var command string
	for _, n := range elements(t, page) {
		if n.Data == "pre" && n.FirstChild != nil {
			command = n.FirstChild.Data
		}
	}
	show, curl, _ := strings.Cut(command, "\n")
	shell := func(line string) []string {
		t.Helper()
		dir := t.TempDir()
		const stubs = `fettle() { printf '%s\n' "$@"; }; curl() { fettle "$@"; }; HUB=https://hub TOKEN=x;`
		c := exec.Command("sh", "-euc", stubs+line)
		c.Dir = dir
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
		if made, err := os.ReadDir(dir); err != nil || len(made) > 0 {
			t.Errorf("%s made %v %v", line, made, err)
		}
		return strings.Split(strings.TrimSpace(string(out)), "\n")
	}
	if got := shell(show); !slices.Equal(got, []string{"target", "list", "-t", word, "-t", "b"}) {
		t.Errorf("%s has the words %q", show, got)
	}
	got := shell(strings.TrimSpace(curl))
	u, err := url.Parse(got[len(got)-1])
	if err != nil || !slices.Equal(u.Query()["select"], []string{word, "b"}) {
		t.Errorf("%s requests %q %v", curl, got, err)
	}
}
