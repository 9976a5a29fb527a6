package supportbundle

import (
	"cmp"
	"encoding/json"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/repo"
)

type statusDoc struct {
	Run        int             `json:"run"`
	Target     string          `json:"target,omitempty"`
	Revision   revision        `json:"revision"`
	Managed    map[string]int  `json:"managed"` // addresses by kind
	Complete   bool            `json:"complete"`
	Pending    []string        `json:"pending,omitempty"`
	Unfinished int             `json:"unfinished,omitempty"`
	Frozen     bool            `json:"frozen"`
	Armed      *journal.Arming `json:"armed,omitempty"`
	Locked     bool            `json:"locked"`
}

func statusOf(st executor.Status) statusDoc {
	doc := statusDoc{
		Run: st.State.Run, Target: st.State.Target, Revision: revisionOf(st.State.Revision), Managed: map[string]int{},
		Complete: st.State.Complete, Unfinished: st.Unfinished, Frozen: st.Frozen != nil, Armed: st.Armed,
		Locked: st.Locked != "",
	}
	for _, e := range st.State.Entries {
		doc.Managed[string(e.Addr.Kind())]++
	}
	for _, p := range st.State.Pending {
		doc.Pending = append(doc.Pending, address(p.Addr))
	}
	return doc
}

// revision is a revision without what its author wrote.
type revision struct {
	Commit string `json:"commit,omitempty"`
	Dirty  bool   `json:"dirty,omitempty"`
}

func revisionOf(r repo.Revision) revision { return revision{r.Commit, r.Dirty} }

type run struct {
	Run       int      `json:"run"`
	Operation string   `json:"operation"`
	Started   int64    `json:"started"`
	Ended     int64    `json:"ended,omitempty"`
	Outcome   string   `json:"outcome"`
	Failed    bool     `json:"failed,omitempty"` // a step failed
	Changed   int      `json:"changed"`
	Base      int      `json:"base"`
	To        int      `json:"to,omitempty"`
	Target    string   `json:"target,omitempty"`
	Revision  revision `json:"revision"`
	OnFailure string   `json:"on_failure"`
	OnCrash   string   `json:"on_crash"`
	User      string   `json:"user"`
	From      string   `json:"from"`
	Version   string   `json:"version"`
	Boot      string   `json:"boot,omitempty"`
}

func runOf(r journal.RunInfo) run {
	h := r.Header
	return run{
		Run: h.Run, Operation: string(h.Operation), Started: r.Started, Ended: r.Ended, Outcome: outcomeOf(r),
		Failed: r.Error != "", Changed: r.Changed, Base: h.Base, To: h.To, Target: h.Target, Revision: revisionOf(h.Revision),
		OnFailure: h.OnFailure, OnCrash: h.OnCrash, User: h.User, From: h.From, Version: h.Version, Boot: h.BootID,
	}
}

// outcomeOf names how a run ended, or that it has not.
func outcomeOf(r journal.RunInfo) string { return cmp.Or(string(r.Outcome), "unfinished") }

// factsOf returns facts as a document, without values that JSON cannot represent.
func factsOf(facts map[string]cty.Value) map[string]json.RawMessage {
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
