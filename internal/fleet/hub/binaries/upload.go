package binaries

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
)

// UploadPath accepts one file of an agent binary. The table of the API does not contain this route,
// because its bodies are small documents.
const UploadPath = "/v1/binaries/file"

// uploadFor limits the duration of one upload.
const uploadFor = 30 * time.Minute

// ServeUpload stores an uploaded binary of a user with the right admin, and answers with its digest.
func (s *Store) ServeUpload(w http.ResponseWriter, r *http.Request) {
	who, err := s.Authenticate(r)
	if err != nil || who.Name == "" {
		refuseFile(w, http.StatusUnauthorized, "The request is not authenticated", "a request needs the token of a login",
			"Log in: fettle login URL")
		return
	}
	audit := func(outcome string) error {
		return s.Audit(context.WithoutCancel(r.Context()),
			access.Entry{User: who.Name, Credential: who.Credential, Operation: "POST " + UploadPath, Outcome: outcome,
				From: r.RemoteAddr})
	}
	if !who.May(access.Admin) || who.Organization != "" {
		_ = audit(access.Denied)
		refuseFile(w, http.StatusForbidden, "Not allowed",
			fmt.Sprintf("agents run an uploaded binary as root: uploading one needs the right %q in the whole fleet, "+
				"which %s does not have", access.Admin, who.Name), "Ask a user with the right admin for it")
		return
	}
	if err := audit(access.Begun); err != nil {
		refuseFile(w, http.StatusServiceUnavailable, "The audit log cannot be written, so nothing was changed",
			err.Error(), "See the cause: fettle status --fleet")
		return
	}
	b, err := s.keepFile(w, r)
	if err != nil {
		_ = audit(err.Error())
		refuseFile(w, http.StatusInsufficientStorage, "The file was not stored", err.Error(),
			"Check the free space on the disk of the hub")
		return
	}
	_ = audit(access.Done + " " + b.Digest)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(b)
}

func (s *Store) keepFile(w http.ResponseWriter, r *http.Request) (fleet.Bundle, error) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(s.Now().Add(uploadFor)) // if it cannot be set, the timeouts of the server remain
	_ = control.SetWriteDeadline(s.Now().Add(uploadFor))
	return s.Content.Add(func(to io.Writer) error {
		_, err := io.Copy(to, http.MaxBytesReader(w, r.Body, fleet.MaxBinary))
		return err
	})
}

func refuseFile(w http.ResponseWriter, status int, title, why, hint string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(document.Problem{Title: title, Status: status, Detail: why, Hint: hint})
}
