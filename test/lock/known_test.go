package lock

import (
	"regexp"
	"strings"
	"testing"
)

// onlyLook are the commands that take no lock, and those that touch no machine.
const onlyLook = "compile completion diff docs drift explain facts fmt init log plan show status support-bundle validate version steps test schema lookup generate module secret target login token events export request ask agent hub person alarm notify permit audit certificate"

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
	listed := regexp.MustCompile(`(?m)^  ([a-z-]+) {2,}\S`)
	found := listed.FindAllStringSubmatch(m.fettle(asWanted, "--help"), -1)
	if len(found) < 20 {
		t.Fatalf("the help lists only %d commands", len(found))
	}
	for _, f := range found {
		if name := f[1]; !strings.Contains(" "+strings.Join(known, " ")+" ", " "+name+" ") {
			t.Errorf("fettle %s is neither in entries nor in onlyLook", name)
		}
	}
}
