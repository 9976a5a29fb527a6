package host

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/ui/cli"
)

const supportReadme = `Files in this bundle
    version.json   the version of fettle, and the limits of its compiler here
    status.json    the applied state, and pending actions
    log.json       every run: time, user, result
    runs/N.json    the last runs: addresses, actions, results, and the aspects
                   that differed
    journals.json  the number of records of each kind in each journal
    facts.json     facts of the host: names, addresses, sizes
    disk.txt       free space of the root and the state directory
    inodes.txt     free inodes of both
    failed.txt     failed units
    packages.txt   packages that dpkg reports as half installed
    missing.json   data that could not be collected

Omitted data
  - content of files, differences of content, before-images, and their digests
  - steps and lists, and therefore commands, their arguments and environment
  - lines of accounts, password hashes, comments and homes of accounts
  - values of settings; of a difference, the bundle contains only mode, owner,
    group, type, version, and the state of units and packages
  - output of commands, and texts of errors and notes: see "fettle show RUN"
  - regions of edited files, and names of commands that contain special characters
  - values of variables on the command line, and reasons of a freeze
  - subjects and authors of commits

Review the bundle before you share it: it contains paths, host names, user names
and addresses.
`

type supportStatusDoc struct {
	Run        int             `json:"run"`
	Target     string          `json:"target,omitempty"`
	Revision   supportRevision `json:"revision"`
	Managed    map[string]int  `json:"managed"` // addresses by kind
	Complete   bool            `json:"complete"`
	Pending    []string        `json:"pending,omitempty"`
	Unfinished int             `json:"unfinished,omitempty"`
	Frozen     bool            `json:"frozen"`
	Armed      *journal.Arming `json:"armed,omitempty"`
	Locked     bool            `json:"locked"`
}

func supportStatus(st executor.Status) supportStatusDoc {
	doc := supportStatusDoc{
		Run: st.State.Run, Target: st.State.Target, Revision: supportRevisionOf(st.State.Revision), Managed: map[string]int{},
		Complete: st.State.Complete, Unfinished: st.Unfinished, Frozen: st.Frozen != nil, Armed: st.Armed,
		Locked: st.Locked != "",
	}
	for _, e := range st.State.Entries {
		doc.Managed[string(e.Addr.Kind())]++
	}
	for _, p := range st.State.Pending {
		doc.Pending = append(doc.Pending, supportAddr(p.Addr))
	}
	return doc
}

// supportRevision is a revision without what its author wrote.
type supportRevision struct {
	Commit string `json:"commit,omitempty"`
	Dirty  bool   `json:"dirty,omitempty"`
}

func supportRevisionOf(r repo.Revision) supportRevision { return supportRevision{r.Commit, r.Dirty} }

type supportRun struct {
	Run       int             `json:"run"`
	Operation string          `json:"operation"`
	Started   int64           `json:"started"`
	Ended     int64           `json:"ended,omitempty"`
	Outcome   string          `json:"outcome"`
	Failed    bool            `json:"failed,omitempty"` // a step failed
	Changed   int             `json:"changed"`
	Base      int             `json:"base"`
	To        int             `json:"to,omitempty"`
	Target    string          `json:"target,omitempty"`
	Revision  supportRevision `json:"revision"`
	OnFailure string          `json:"on_failure"`
	OnCrash   string          `json:"on_crash"`
	User      string          `json:"user"`
	From      string          `json:"from"`
	Version   string          `json:"version"`
	Boot      string          `json:"boot,omitempty"`
}

func supportRunOf(r journal.RunInfo) supportRun {
	h := r.Header
	return supportRun{
		Run: h.Run, Operation: string(h.Operation), Started: r.Started, Ended: r.Ended, Outcome: cli.OutcomeOf(r),
		Failed:  r.Error != "",
		Changed: r.Changed, Base: h.Base, To: h.To, Target: h.Target, Revision: supportRevisionOf(h.Revision),
		OnFailure: h.OnFailure, OnCrash: h.OnCrash, User: h.User, From: h.From, Version: h.Version, Boot: h.BootID,
	}
}

type supportShownDoc struct {
	Info    supportRun      `json:"info"`
	Changes []supportChange `json:"changes"`
	Parts   []supportPart   `json:"parts"`
}

type supportChange struct {
	Action       plan.Action         `json:"action"`
	Addr         string              `json:"addr"`
	Source       string              `json:"source,omitempty"`
	Differences  []map[string]string `json:"differences,omitempty"`
	Irreversible bool                `json:"irreversible,omitempty"`
	Drifted      bool                `json:"drifted,omitempty"`
	Cause        []string            `json:"cause,omitempty"`
}

type supportPart struct {
	Addr    string      `json:"addr"`
	Action  plan.Action `json:"action"`
	Outcome string      `json:"outcome"`
}

func supportShown(sh executor.Shown) supportShownDoc {
	doc := supportShownDoc{Info: supportRunOf(sh.Info), Changes: []supportChange{}, Parts: []supportPart{}}
	if sh.Plan != nil {
		for _, c := range sh.Plan.Changes {
			doc.Changes = append(doc.Changes, supportChangeOf(c))
		}
	}
	for _, inv := range sh.Invocations {
		for _, p := range inv.Parts {
			doc.Parts = append(doc.Parts, supportPart{supportAddr(p.Addr), p.Action, p.Outcome})
		}
	}
	return doc
}

func supportChangeOf(c plan.Change) supportChange {
	out := supportChange{Action: c.Action, Addr: supportAddr(c.Addr), Source: c.Source,
		Irreversible: c.Irreversible != "", Drifted: c.Drifted}
	for _, d := range c.Differences {
		told := map[string]string{"field": supportField(d.Field)}
		if slices.Contains(toldFields(c.Addr.Kind()), d.Field) {
			told["old"], told["new"] = d.Old, d.New
		}
		out.Differences = append(out.Differences, told)
	}
	for _, a := range c.Cause {
		out.Cause = append(out.Cause, supportAddr(a))
	}
	return out
}

// toldFields are the fields whose values are never confidential.
func toldFields(k addr.Kind) []string {
	switch k {
	case addr.KindFile, addr.KindMeta:
		return []string{"mode", "owner", "group", "type"}
	case addr.KindPkg:
		return []string{"version", "state", "held", "ensure"}
	case addr.KindUnit:
		return []string{"enabled", "active", "masked"}
	}
	return nil
}

var (
	plainField = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z_ ]{1,32}$`) })
	plainName  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9._@/:+-]{1,80}$`) })
)

func supportField(name string) string {
	if plainField().MatchString(name) {
		return name
	}
	return "another"
}

// supportAddr is an address without what its author wrote into it: the region
// of an edit can be the line itself, the name of a command the command.
func supportAddr(a addr.Addr) string {
	switch a.Kind() {
	case addr.KindEdit:
		return string(addr.KindEdit) + ":" + a.Path() + "#…"
	case addr.KindExec, addr.KindAct, addr.KindWait, addr.KindCheck:
		if !plainName().MatchString(a.Name()) {
			return fmt.Sprintf("%s:(%d characters)", a.Kind(), len(a.Name()))
		}
	}
	return a.String()
}

// factsJSON returns facts as a document, without values that JSON cannot represent.
func factsJSON(facts map[string]cty.Value) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for name, v := range facts {
		if v == cty.NilVal || v.ContainsMarked() || !v.IsWhollyKnown() {
			continue
		}
		if text, err := ctyjson.Marshal(v, v.Type()); err == nil {
			out[name] = text
		}
	}
	return out
}

func unixTime(sec int64) time.Time { return time.Unix(sec, 0).UTC() }
