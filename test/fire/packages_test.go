package fire

import (
	"testing"

	"fettle.dev/fettle/test/hosts"
	"fettle.dev/fettle/test/sample"
)

// TestPackages is one host on which everything happens to packages that can.
func TestPackages(t *testing.T) {
	sample.Half(t)
	archive := hosts.NewRepo(t)
	for _, add := range []func(*testing.T, *hosts.Repo){addMoving, addConffiles, addFailing, addAsking, addForeign,
		addTied} {
		add(t, archive)
	}
	m := newMachine(t, "fire", archive)
	for _, story := range []struct {
		name string
		tell func(*machine)
	}{
		{"KilledThenRecover", killedThenRecover},
		{"KilledThenApply", killedThenApply},
		{"Conffiles", conffiles},
		{"ConffileManaged", conffileManaged},
		{"ScriptsFail", scriptsFail},
		{"TriggerFails", triggerFails},
		{"FailureTakenBack", failureTakenBack},
		{"TiedTakenBack", tiedTakenBack},
		{"TiedLost", tiedLost},
		{"BrokenAtStart", brokenAtStart},
		{"BrokenBystander", brokenBystander},
		{"BeyondRepair", beyondRepair},
		{"Held", held},
		{"Essential", essential},
		{"NoSuchPackage", noSuchPackage},
		{"Foreign", foreign},
		{"Asking", asking},
		{"LockWaitedFor", lockWaitedFor},
		{"LockInterrupted", lockInterrupted},
		{"ListsLocked", listsLocked},
		{"ArchiveGone", archiveGone},
	} {
		// Each story begins with what the earlier ones left, so all of them run; only points of kills are a sample.
		if !t.Run(story.name, func(t *testing.T) { story.tell(m.with(t)) }) {
			m.Exec("sh", "-c", "rm -f /run/fail-* /etc/apt/sources.list.d/*; touch /run/go; dpkg --purge --force-all moody watcher bystander waiting rude asking base client; apt-get update")
		}
	}
}
