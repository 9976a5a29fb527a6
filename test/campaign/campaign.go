// Package campaign writes the table with the results of fault-injection tests.
//
//	campaign.Record(t, campaign.Campaign{Name: "power cut", Variant: "ext4, undo", Points: 1200, Hit: 1140})
//
// A campaign injects a fault at many points, and checks each time that no data is lost. Its rows are
// written to the document in FETTLE_CAMPAIGNS, where they replace the rows of the same campaign and
// variant.
package campaign

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// EnvFile names the document. Without it Record only logs.
const EnvFile = "FETTLE_CAMPAIGNS"

// Campaign is the result of one campaign, or of one variant of it.
type Campaign struct {
	Name    string // the section: "Power cut"
	Variant string // the row: "ext4, undo"; "" for a campaign of one row
	Points  int    // places in which the machine was broken
	Hit     int    // the number of these points with the fault before the end of the command
	Lost    int    // of these, in how many anything was torn or lost
	Detail  string // the operations and the comparison, in a few words
}

// Record logs the result and merges it into the document. A relative name of the document is relative
// to the root of the module. A lock serializes concurrent calls.
func Record(t testing.TB, c Campaign) {
	t.Helper()
	t.Logf("%s (%s): %d points, %d before the end, %d lost. %s", c.Name, c.Variant, c.Points, c.Hit, c.Lost, c.Detail)
	file := os.Getenv(EnvFile)
	if file == "" {
		return
	}
	if err := recordIn(file, c); err != nil {
		t.Errorf("cannot record the campaign: %v", err)
	}
}

func recordIn(file string, c Campaign) error {
	if !filepath.IsAbs(file) {
		root, err := moduleRoot()
		if err != nil {
			return err
		}
		file = filepath.Join(root, file)
	}
	dir, err := os.Open(filepath.Dir(file))
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := unix.Flock(int(dir.Fd()), unix.LOCK_EX); err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.WriteFile(file, []byte(Merge(string(text), c)), 0o644)
}

func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; dir != "/"; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
	}
	return "", errors.New("no go.mod in this directory or above")
}

const head = `# Crash and fault-injection tests

Each test injects faults at many points of a run and lets fettle recover. Then it compares
the host with its previous state and with the desired state. *Points* is the number of
faults. *In the run* is the number of faults before the command had ended. *Lost* is the
number of faults after which any content was torn, mixed or missing.

The tests write this page:

    FETTLE_CAMPAIGNS=docs/campaigns.md FETTLE_LONG=1 go test -timeout 120m ./test/powercut ./test/crash ./test/outside ./test/fidelity ./internal/apply
`

const tableHead = "| variant | points | in the run | lost | test |\n|---|---:|---:|---:|---|\n"

// Merge adds a result to the text of the document. It is pure: sections and rows are sorted by name,
// so the order of the calls does not matter.
func Merge(text string, c Campaign) string {
	sections := parse(text)
	if sections[c.Name] == nil {
		sections[c.Name] = map[string]string{}
	}
	variant := c.Variant
	if variant == "" {
		variant = "all"
	}
	cells := []string{variant, strconv.Itoa(c.Points), strconv.Itoa(c.Hit), strconv.Itoa(c.Lost), c.Detail}
	for i := range cells {
		cells[i] = strings.NewReplacer("|", `\|`, "\n", " ").Replace(cells[i])
	}
	sections[c.Name][cells[0]] = "| " + strings.Join(cells, " | ") + " |\n"
	return format(sections)
}

// parse reads the rows of each section, by section and first cell.
func parse(text string) map[string]map[string]string {
	sections := map[string]map[string]string{}
	var rows map[string]string
	for line := range strings.Lines(text) {
		name, is := strings.CutPrefix(strings.TrimSpace(line), "## ")
		switch {
		case is:
			rows = map[string]string{}
			sections[name] = rows
		case rows != nil && strings.HasPrefix(line, "| ") && !strings.HasPrefix(tableHead, line):
			key, _, _ := strings.Cut(line[2:], " | ")
			rows[key] = line
		}
	}
	return sections
}

func format(sections map[string]map[string]string) string {
	var b strings.Builder
	b.WriteString(head)
	for _, name := range sorted(sections) {
		fmt.Fprintf(&b, "\n## %s\n\n%s", name, tableHead)
		for _, row := range sorted(sections[name]) {
			b.WriteString(sections[name][row])
		}
	}
	return b.String()
}

func sorted[V any](m map[string]V) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
