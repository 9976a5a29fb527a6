package machine

import (
	"fmt"
	"slices"

	"fettle.dev/fettle/internal/fleet"
)

// receiveJob handles a job, once for each ID, and acknowledges it after it is durable.
func (m *jobs) receiveJob(d fleet.Job) {
	if slices.Contains(m.FinishedJobs, d.ID) {
		m.do(AcknowledgeJob{m.asBefore(d)})
		return
	}
	if err := m.planJob(d); err != nil {
		m.do(AcknowledgeJob{fleet.JobAnswer{ID: d.ID, Error: err.Error()}})
		return
	}
	if d.What == fleet.JobReport &&
		d.Arg == fleet.FullReport { // hubs can repeat it safely, and it must not displace other jobs
		m.do(AcknowledgeJob{fleet.JobAnswer{ID: d.ID}})
		return
	}
	m.FinishedJobs = append(m.FinishedJobs, d.ID)
	m.FinishedJobs = m.FinishedJobs[max(0, len(m.FinishedJobs)-maxDone):]
	m.changed = true
	m.do(AcknowledgeJob{fleet.JobAnswer{ID: d.ID, Accepted: d.What == fleet.JobRun || d.What == fleet.JobTask}})
}

func (m *jobs) planJob(d fleet.Job) error {
	by := d.By
	if by == "" {
		by = "a hub"
	}
	switch d.What {
	case fleet.JobApply:
		m.ApplyOrderedBy = by
		m.bad, m.BadBinary = order{}, ""
		for name, s := range m.Modules {
			if s.FailedBundle != "" {
				s.FailedBundle = ""
				m.put(name, s)
			}
		}
	case fleet.JobVerify:
		m.VerifyOrderedBy = by
	case fleet.JobReport:
		m.report(fleet.Event{Kind: fleet.ReportRequested, Text: "requested by " + by})
	case fleet.JobForgetCertificate:
		m.due[renewTimer], m.renewal.cert.From, m.renewal.cert.Until = m.now.Mono, 0, 1
	case fleet.JobRun, fleet.JobTask:
		return m.keep(d)
	case fleet.JobCancel:
		m.cancelJob(d.Arg)
	default:
		return fmt.Errorf(
			fleet.UnsupportedJob+"%.40q: this agent supports %s, %s, %s, "+
				"%s, %s and %s", d.What, fleet.JobApply, fleet.JobVerify, fleet.JobReport, fleet.JobRun, fleet.JobTask,
			fleet.JobForgetCertificate)
	}
	if (d.What == fleet.JobApply || d.What == fleet.JobVerify) && m.Accepted == nil && m.Applied == nil {
		m.ApplyOrderedBy, m.VerifyOrderedBy = "", ""
		return fmt.Errorf("cannot %s: this target has no assignment yet", d.What)
	}
	return nil
}
