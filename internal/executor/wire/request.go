package wire

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/secret"
	"fettle.dev/fettle/internal/step"
)

// request is an executor.Request in transit. Data that it only names is requested later.
type request struct {
	Target     string               `json:"target,omitempty"`
	Revision   repo.Revision        `json:"revision"`
	Repository *repo.Identity       `json:"repository,omitempty"`
	Adopt      bool                 `json:"adopt,omitempty"`
	Digest     string               `json:"digest"` // of the list
	Outputs    []executor.OutputRef `json:"outputs,omitempty"`
	Known      executor.Known       `json:"known,omitempty"`
	Next       bool                 `json:"next,omitempty"` // there is a Next
	Deferred   []executor.Deferred  `json:"held,omitempty"`
	Policy     catalog.Policy       `json:"policy"`
	Repair     bool                 `json:"repair,omitempty"`
	Diffs      bool                 `json:"diffs,omitempty"`
	Verify     bool                 `json:"verify,omitempty"`
	Guards     executor.Guards      `json:"guards,omitempty"`
	// Loaded is sent if the target will probably need it; otherwise the target requests
	// it.
	Loaded *loaded `json:"loaded,omitempty"`
}

// loaded is the list with all that belongs to it but for the content.
type loaded struct {
	List    string              `json:"list"`
	Sizes   map[string]int64    `json:"sizes,omitempty"` // of content, in bytes, by digest
	States  []executor.StateRef `json:"states,omitempty"`
	Secrets secret.Bundle       `json:"secrets"`
}

func encodeRequest(r *executor.Request) request {
	return request{Target: r.Target, Revision: r.Revision, Repository: journal.RecordedIdentity(r.Repository),
		Adopt: r.Adopt, Digest: r.Digest(), Outputs: r.Outputs, Known: r.Known, Next: r.Next != nil,
		Deferred: r.Deferred, Policy: r.Policy, Repair: r.Repair, Diffs: r.Diffs, Verify: r.Verify, Guards: r.Guards}
}

// encodeLoaded needs a request that has been filled.
func encodeLoaded(r *executor.Request, reseal func(secret.Bundle) (secret.Bundle, error)) (*loaded, error) {
	text, err := encodeList(r.List)
	if err != nil {
		return nil, err
	}
	l := &loaded{List: text, Sizes: map[string]int64{}, States: r.States}
	for _, d := range slices.Sorted(maps.Keys(r.Blobs)) {
		l.Sizes[d] = r.Blobs[d].Size
	}
	l.Secrets, err = reseal(r.Secrets)
	return l, err
}

func encodeList(l step.List) (string, error) {
	var b bytes.Buffer
	if err := step.Print(&b, l, step.PrintOptions{Source: true}); err != nil {
		return "", fmt.Errorf("cannot send the list: %w", err)
	}
	return b.String(), nil
}

// decodeList reads a list that the other end compiled. Its positions are positions in the
// repository, not lines of the received text.
func decodeList(text string) (step.List, error) {
	l, ds := step.Parse("list", []byte(text))
	if err := ds.Err(); err != nil {
		return nil, fmt.Errorf("cannot read the received list: %w", err)
	}
	for i := range l {
		if l[i].Verb == step.Include {
			return nil, fmt.Errorf("cannot read the received list: it includes %s", l[i].Path())
		}
		l[i].Range, l[i].Written = diag.Range{}, ""
	}
	return l, nil
}

// The parameters and results of calls.
type (
	planned struct {
		Request request `json:"request"`
	}
	applied struct {
		Request request `json:"request"`
		// Plan is the digest of the plan that was looked at, "" for none.
		Plan         string           `json:"plan,omitempty"`
		Options      executor.Options `json:"options"`
		OnDisconnect string           `json:"on_disconnect,omitempty"`
	}
	rolledBack struct {
		Request      executor.RollbackRequest `json:"request"`
		Plan         string                   `json:"plan,omitempty"`
		Options      executor.Options         `json:"options"`
		OnDisconnect string                   `json:"on_disconnect,omitempty"`
	}
	asked struct {
		Options executor.Options `json:"options"`
	}
	ran struct {
		Run int  `json:"run"`
		OK  bool `json:"ok,omitempty"`
	}
	listed struct {
		List string `json:"list"`
	}
	known struct {
		Known executor.Known `json:"known"`
	}
	wantedContent struct {
		Digests []string `json:"digests"`
		// From is how many bytes of the first one the target has.
		From int64 `json:"from,omitempty"`
	}
	wantedFile struct {
		From int64 `json:"from,omitempty"`
	}
	// beginning asks whether content starts with the part that the target has.
	beginning struct {
		Digest string `json:"digest"` // of all the content
		Bytes  int64  `json:"bytes"`
		Sum    string `json:"sum"` // sha256 in hex of so many bytes
	}
	planAnswer struct {
		Plan *plan.Plan `json:"plan"`
	}
)

// The values of OnDisconnect, which decide about an active run when the connection is
// lost.
const (
	// Finish lets it go on to its end.
	Finish = "finish"
	// Stop ends it cleanly, as an interrupt does.
	Stop = "stop"
	// Revert ends the run in an orderly way and undoes its changes.
	Revert = "undo"
)
