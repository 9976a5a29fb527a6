// Package rundoc has plans and runs of a target as JSON documents. The command line and the API of a hub return the
// same documents.
//
//	doc := rundoc.Of(details)
//
// Documents contain no images, because images can contain hashes of passwords.
package rundoc

import (
	"slices"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/repo"
)

// The formats of documents.
const (
	RunFormat   = "fettle.run/1"
	RunsFormat  = "fettle.runs/1"
	PlanFormat  = "fettle.plan/1"
	DriftFormat = "fettle.drift/1"
)

// Unfinished is the outcome of a run that has not ended.
const Unfinished = "unfinished"

// Run is one run.
type Run struct {
	Format      string                `json:"format"` // RunFormat
	Info        RunInfo               `json:"info"`
	Plan        *Plan                 `json:"plan,omitempty"`
	Invocations []executor.Invocation `json:"invocations"`
	// Notes are the notes of the run: conflicts, and files of others that it kept. Agents of earlier versions omit them.
	Notes []string `json:"notes,omitempty"`
}

// Runs are runs of one target.
type Runs struct {
	Format string    `json:"format"` // RunsFormat
	Total  int       `json:"total"`  // of all pages
	Runs   []RunInfo `json:"runs"`   // the newest first
}

// Page returns a page of the runs of a journal, which begins with the oldest run. A limit of 0 returns all.
func Page(all []journal.RunInfo, offset, limit int) Runs {
	doc := Runs{Format: RunsFormat, Total: len(all), Runs: []RunInfo{}}
	end := max(0, len(all)-max(0, offset))
	begin := 0
	if limit > 0 {
		begin = max(0, end-limit)
	}
	for _, i := range slices.Backward(all[begin:end]) {
		doc.Runs = append(doc.Runs, InfoOf(i))
	}
	return doc
}

// RunInfo is one run as part of a document.
type RunInfo struct {
	Run       int           `json:"run"`
	Operation string        `json:"operation"`
	Started   int64         `json:"started"`         // ns since 1970
	Ended     int64         `json:"ended,omitempty"` // ns since 1970; 0 while unfinished
	Outcome   string        `json:"outcome"`         // Unfinished if it has not ended
	Changed   int           `json:"changed"`
	Error     string        `json:"error,omitempty"`
	Base      int           `json:"base"`
	To        int           `json:"to"`
	Target    string        `json:"target,omitempty"`
	Revision  repo.Revision `json:"revision"`
	List      string        `json:"list"`
	User      string        `json:"user"`
	From      string        `json:"from"`
	Command   string        `json:"command"`
	Version   string        `json:"version"`
	PID       int           `json:"pid,omitempty"`       // of the process that began it
	Continues int           `json:"continues,omitempty"` // the phase before, of the same apply
}

// Plan has the changes of a run in their order, as plan.Plan does.
type Plan struct {
	Format    string         `json:"format"` // PlanFormat or DriftFormat
	Operation string         `json:"operation"`
	Target    string         `json:"target,omitempty"`
	Base      int            `json:"base"`
	To        int            `json:"to"`
	Revision  repo.Revision  `json:"revision"`
	List      string         `json:"list"`
	Digest    string         `json:"digest"`
	Empty     bool           `json:"empty"`
	Unchanged int            `json:"unchanged"`
	Count     map[string]int `json:"count"`
	Changes   []Change       `json:"changes"`
	Stage     int            `json:"stage,omitempty"`
	Stages    int            `json:"stages,omitempty"`
	Later     []plan.Later   `json:"later,omitempty"`
	Notes     []string       `json:"notes,omitempty"` // lost or damaged parts of the state directory that were rebuilt
	Armed     *Arming        `json:"armed,omitempty"` // how apply would be armed
}

// Change is a change of a plan.
type Change struct {
	Action       string             `json:"action"`
	Addr         addr.Addr          `json:"addr"`
	Why          string             `json:"why"`
	Step         string             `json:"step,omitempty"`
	Applied      string             `json:"applied,omitempty"`
	Source       string             `json:"source,omitempty"`
	State        string             `json:"state,omitempty"` // the state that writes the address
	Differences  []image.Difference `json:"differences,omitempty"`
	Diff         string             `json:"diff,omitempty"`
	Binary       bool               `json:"binary,omitempty"`
	Irreversible string             `json:"irreversible,omitempty"`
	Note         string             `json:"note,omitempty"`
	Cause        []addr.Addr        `json:"cause,omitempty"`
	Drifted      bool               `json:"drifted,omitempty"`
	By           addr.Addr          `json:"by,omitempty"`
	// Took is the duration of the change in a run, in ns. 0 means that it is unknown: there was no run, or several
	// changes were made together.
	Took int64 `json:"took_ns,omitempty"`
}

// Arming is the reason why a run is armed automatically, and the way to keep it.
type Arming struct {
	Changes  []addr.Addr `json:"changes"`   // changes of the access to the machine
	Within   int64       `json:"within_ns"` // the time to confirm, from the end of the run
	ByChecks bool        `json:"by_checks"` // its checks confirm it, or take it back at once
}

// Of returns the document of a run. Details that an executor of an earlier version does not have can be missing.
func Of(d executor.RunDetails) Run {
	doc := Run{Format: RunFormat, Info: InfoOf(d.Info), Plan: PlanOf(PlanFormat, d.Plan), Invocations: d.Invocations,
		Notes: d.Notes}
	if doc.Invocations == nil {
		doc.Invocations = []executor.Invocation{}
	}
	if doc.Plan != nil {
		for i := range doc.Plan.Changes {
			doc.Plan.Changes[i].Took = d.Took[i]
		}
	}
	return doc
}

// InfoOf returns a run of the journal as part of a document.
func InfoOf(i journal.RunInfo) RunInfo {
	h := i.Header
	return RunInfo{
		Run: h.Run, Operation: string(h.Operation), Started: i.Started, Ended: i.Ended, Outcome: Outcome(i),
		Changed: i.Changed, Error: i.Error, Base: h.Base, To: h.To, Target: h.Target, Revision: h.Revision,
		List: h.List, User: h.User, From: h.From, Command: h.Command, Version: h.Version, PID: h.PID, Continues: h.Continues,
	}
}

// Outcome returns the outcome of a run, or Unfinished.
func Outcome(i journal.RunInfo) string {
	if i.Outcome == "" {
		return Unfinished
	}
	return string(i.Outcome)
}

// PlanOf returns a plan as a document of a format: PlanFormat or DriftFormat. Without a plan, it returns nil.
func PlanOf(format string, p *plan.Plan) *Plan {
	if p == nil {
		return nil
	}
	doc := &Plan{
		Format: format, Operation: string(p.Operation), Target: p.Target, Base: p.Base, To: p.To,
		Revision: p.Revision, List: p.List, Digest: p.Digest(), Empty: p.Empty(), Unchanged: p.Unchanged,
		Count: map[string]int{}, Changes: []Change{}, Stage: p.Stage, Stages: p.Stages, Later: p.Later, Notes: p.Notes,
	}
	for a, n := range p.Count() {
		doc.Count[string(a)] = n
	}
	for _, c := range p.Changes {
		doc.Changes = append(doc.Changes, Change{
			Action: string(c.Shown()), Addr: c.Addr, Why: c.Why, Step: c.Step.String(), Applied: c.Applied.String(),
			Source: c.Source, State: c.State, Differences: c.Differences, Diff: c.Diff, Binary: c.Binary,
			Irreversible: c.Irreversible, Note: c.Note, Cause: c.Cause, Drifted: c.Drifted, By: c.PurgedBy,
		})
	}
	return doc
}
