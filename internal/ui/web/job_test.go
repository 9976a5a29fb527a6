package web

import (
	"fmt"
	"testing"

	"fettle.dev/fettle/internal/fleet/document"
)

// TestTargetsOfAJob: targets with a problem come first, also if the page does not show all targets.
func TestTargetsOfAJob(t *testing.T) {
	j := document.Job{}
	for i := range 600 {
		state := document.JobDone
		switch i {
		case 590:
			state = document.JobFailed
		case 595:
			state = document.JobWaits
		}
		j.Targets = append(j.Targets, document.JobTarget{Name: fmt.Sprint("host", i), State: state})
	}
	d := newJobData(j)
	const want = "[{failed 1} {waits 1} {acknowledged 598}] 600 500 host590 host595 host0"
	if got := fmt.Sprintln(d.States, d.Total, len(d.Targets), d.Targets[0].Name, d.Targets[1].Name,
		d.Targets[2].Name); got != want+"\n" {
		t.Errorf("the page has %s", got)
	}
}
