package hub

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
)

// uploadPath accepts one file of an agent binary. The table of the API does not contain this route,
// because its bodies are small documents.
const uploadPath = "/v1/binaries/file"

// uploadFor limits the duration of one upload.
const uploadFor = 30 * time.Minute

// Binaries returns the stored settings of agent binaries, the latest first.
func (h *Hub) Binaries(context.Context) ([]document.BinarySetting, error) {
	var out []document.BinarySetting
	for _, p := range h.records.Binaries.Values() {
		out = append(out, document.BinarySetting{ID: p.Key, At: p.At, By: p.By, Select: p.Select, Binary: p.Binary})
	}
	slices.SortFunc(out, func(a, b document.BinarySetting) int { return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(a.ID, b.ID)) })
	return out, nil
}

// SetBinary stores which binary the agents of some targets must run. It replaces an earlier setting
// for the same selection.
func (h *Hub) SetBinary(ctx context.Context, by access.Principal, r document.BinaryRequest, targets []fleet.TargetID) error {
	for _, arch := range slices.Sorted(maps.Keys(r.Binary.Files)) {
		if !h.content.Has(r.Binary.Files[arch]) {
			return &api.Refusal{Status: http.StatusConflict, Why: fmt.Sprintf("cannot upgrade agents to %s: this hub does not have the binary for %s", r.Binary.Version, arch),
				Hint: "Upload it: fettle agent upgrade --binary FILE"}
		}
	}
	now := h.now()
	sum := sha256.Sum256([]byte(strings.Join(r.Select, "\x00")))
	key := hex.EncodeToString(sum[:8])
	words := strings.Join(r.Select, " -t ")
	if err := h.events.Record(ctx, fleet.HubEvent{Kind: fleet.BinarySet, By: by.Name,
		Text: fmt.Sprintf("%s for %d agents, -t %s", r.Binary.Version, len(targets), words)}); err != nil {
		return err
	}
	_, rev, _ := h.records.Binaries.Get(key)
	slices.Sort(targets)
	return h.records.Binaries.Put(ctx, key, assign.BinarySetting{Key: key, At: now.UnixNano(), By: by.Name,
		Select: r.Select, Targets: targets, Binary: r.Binary}, rev)
}

// onBinarySet passes a changed setting to the leader's computation, if this hub leads.
func (h *Hub) onBinarySet(key string, p assign.BinarySetting, rev uint64, gone bool) {
	h.tell(assign.Event{Rev: rev, Kind: assign.BinaryEvent, Key: key, Binary: unless(gone, &p)})
}

// takeFile stores an uploaded binary of a user with the right admin, and answers with its digest.
func (h *Hub) takeFile(w http.ResponseWriter, r *http.Request) {
	who, err := h.authenticate(r)
	if err != nil || who.Name == "" {
		refuseFile(w, http.StatusUnauthorized, "The request is not authenticated", "a request needs the token of a login",
			"Log in: fettle login URL")
		return
	}
	audit := func(outcome string) error {
		return h.trail.Append(context.WithoutCancel(r.Context()),
			access.Entry{User: who.Name, Credential: who.Credential, Operation: "POST " + uploadPath, Outcome: outcome, From: r.RemoteAddr})
	}
	if !who.May(access.Admin) {
		_ = audit(access.Denied)
		refuseFile(w, http.StatusForbidden, "Not allowed",
			fmt.Sprintf("agents run an uploaded binary as root: uploading one needs the right %q, which %s does not have", access.Admin, who.Name), "Ask a user with the right admin for it")
		return
	}
	if err := audit(access.Begun); err != nil {
		refuseFile(w, http.StatusServiceUnavailable, "The audit log cannot be written, so nothing was changed", err.Error(), "See the cause: fettle status --fleet")
		return
	}
	b, err := h.keepFile(w, r)
	if err != nil {
		_ = audit(err.Error())
		refuseFile(w, http.StatusInsufficientStorage, "The file was not stored", err.Error(), "Check the free space on the disk of the hub")
		return
	}
	_ = audit(access.Done + " " + b.Digest)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(b)
}

func (h *Hub) keepFile(w http.ResponseWriter, r *http.Request) (fleet.Bundle, error) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(h.now().Add(uploadFor)) // if it cannot be set, the timeouts of the server remain
	_ = control.SetWriteDeadline(h.now().Add(uploadFor))
	return h.content.Add(func(to io.Writer) error {
		_, err := io.Copy(to, http.MaxBytesReader(w, r.Body, fleet.MaxBinary))
		return err
	})
}

func refuseFile(w http.ResponseWriter, status int, title, why, hint string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(document.Problem{Title: title, Status: status, Detail: why, Hint: hint})
}
