package lock

import (
	"regexp"
	"strings"
	"testing"
)

// onlyLook are the commands that take no lock, and those that touch no machine.
const onlyLook = "compile completion diff docs drift explain graph ui facts fmt init log plan show status support-bundle validate version steps test schema lookup generate module secret target login token events export job rollout exemption environment organization fleet lock barrier signal scope task request agent hub user alarm notify permit audit cert help"

// runsPrograms are the commands that run programs of the machine, which the machines
// of these tests lack. That they take the lock is tested where they are done.
const runsPrograms = "run copy reboot wait"

// TestEveryCommandIsKnown fails for a command that is neither a way in of these
// tests nor known to only look, so that nobody forgets a new one here.
func TestEveryCommandIsKnown(t *testing.T) {
	m := newMachine(t)
	known := strings.Fields(onlyLook + " " + runsPrograms)
	for _, e := range entries() {
		known = append(known, e.args[0])
	}
	_, text, _ := strings.Cut(m.fettle(success, "--help"), "Everyday commands:\n")
	text, _, _ = strings.Cut(text, "Flags of most commands:")
	everyday, groups, _ := strings.Cut(text, "More commands:\n")
	var listed []string
	for _, f := range regexp.MustCompile(`(?m)^  fettle ([a-z-]+)`).FindAllStringSubmatch(everyday, -1) {
		listed = append(listed, f[1])
	}
	listed = append(listed,
		regexp.MustCompile(`\b[a-z][a-z-]+`).FindAllString(regexp.MustCompile(`(?m)^  [A-Z]\S*`).ReplaceAllString(groups,
			""), -1)...)
	if len(listed) < 40 {
		t.Fatalf("the help lists only %d commands: %v", len(listed), listed)
	}
	for _, name := range listed {
		if !strings.Contains(" "+strings.Join(known, " ")+" ", " "+name+" ") {
			t.Errorf("fettle %s is neither in entries nor in onlyLook", name)
		}
	}
}
