package binaries_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/binaries"
)

// upload sends a file, and returns the answer.
func (w *world) upload(t *testing.T, body io.Reader) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, binaries.UploadPath, body)
	out := httptest.NewRecorder()
	w.ServeUpload(out, r)
	return out
}

// outcomes returns the outcomes in the audit log.
func (w *world) outcomes() (out []string) {
	for _, e := range w.audit {
		out = append(out, e.Outcome)
	}
	return out
}

// refusedWith checks that an upload was refused, and that nothing was stored.
func (w *world) refusedWith(t *testing.T, out *httptest.ResponseRecorder, status int, part string) {
	t.Helper()
	var p document.Problem
	err := json.Unmarshal(out.Body.Bytes(), &p)
	if err != nil || out.Code != status || p.Status != status || p.Title == "" || p.Hint == "" ||
		!strings.Contains(p.Detail, part) || out.Header().Get("Content-Type") != "application/problem+json" {
		t.Errorf("%d, %v: %s; want %d and %q", out.Code, err, out.Body, status, part)
	}
	if n := w.Content.Used(); n != 0 {
		t.Errorf("%d bytes are stored", n)
	}
}

// TestUpload: the answer has the digest of the stored file, and the audit log has it too. The same file
// can be uploaded again.
func TestUpload(t *testing.T) {
	w := newWorld(t, 0)
	file := bytes.Repeat([]byte("binary"), 1000)
	for range 2 {
		out := w.upload(t, bytes.NewReader(file))
		var b fleet.Bundle
		if err := json.Unmarshal(out.Body.Bytes(), &b); err != nil || out.Code != http.StatusOK ||
			b.Size != int64(len(file)) || out.Header().Get("Content-Type") != "application/json" {
			t.Fatalf("%d %s, %v", out.Code, out.Body, err)
		}
		f, err := w.Content.Open(b)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(f)
		if err = errors.Join(err, f.Close()); err != nil || !bytes.Equal(text, file) {
			t.Errorf("%d bytes, %v", len(text), err)
		}
		if want := []string{access.Begun, access.Done + " " + b.Digest}; !slices.Equal(w.outcomes(), want) {
			t.Errorf("the audit log: %q, want %q", w.outcomes(), want)
		}
		w.audit = nil
	}
	if n := w.Content.Used(); n != int64(len(file)) {
		t.Errorf("%d bytes are stored", n)
	}
}

// TestAuditOfUploads: each entry names the user, the credential, the operation and the address.
func TestAuditOfUploads(t *testing.T) {
	w := newWorld(t, 0)
	w.upload(t, strings.NewReader("binary"))
	for _, e := range w.audit {
		if e.User != "ann" || e.Credential != "token" || e.Operation != "POST "+binaries.UploadPath || e.From == "" {
			t.Errorf("%+v", e)
		}
	}
}

// TestRefusedUsers: only an authenticated admin may upload a binary.
func TestRefusedUsers(t *testing.T) {
	w := newWorld(t, 0)
	w.unknown = errors.New("the token has expired")
	w.refusedWith(t, w.upload(t, strings.NewReader("evil")), http.StatusUnauthorized, "token of a login")
	w.unknown, w.user = nil, access.Principal{}
	w.refusedWith(t, w.upload(t, strings.NewReader("evil")), http.StatusUnauthorized, "token of a login")
	if len(w.audit) != 0 {
		t.Errorf("the audit log of unknown users: %+v", w.audit)
	}
	w.user = bob
	w.refusedWith(t, w.upload(t, strings.NewReader("evil")), http.StatusForbidden, "bob does not have")
	if got := w.outcomes(); !slices.Equal(got, []string{access.Denied}) {
		t.Errorf("the audit log: %q", got)
	}
}

// TestUploadWithoutAudit: without an entry in the audit log, nothing is stored.
func TestUploadWithoutAudit(t *testing.T) {
	w := newWorld(t, 0)
	w.noAudit = errors.New("the disk is full")
	w.refusedWith(t, w.upload(t, strings.NewReader("binary")), http.StatusServiceUnavailable, "the disk is full")
}

// failing is a body that ends with an error, after some bytes. It can also end the request.
type failing struct {
	io.Reader
	err error
	end context.CancelFunc
}

func (f *failing) Read(b []byte) (int, error) {
	n, err := f.Reader.Read(b)
	if errors.Is(err, io.EOF) {
		if err = f.err; f.end != nil {
			f.end()
		}
	}
	return n, err
}

// TestInterruptedUpload: an upload that ends early stores nothing. The audit log has its end, also if the
// client has disconnected.
func TestInterruptedUpload(t *testing.T) {
	w := newWorld(t, 0)
	ctx, end := context.WithCancel(t.Context())
	body := &failing{strings.NewReader("bin"), io.ErrUnexpectedEOF, end}
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, binaries.UploadPath, body)
	out := httptest.NewRecorder()
	w.ServeUpload(out, r)
	w.refusedWith(t, out, http.StatusInsufficientStorage, "unexpected EOF")
	if got := w.outcomes(); len(got) != 2 || got[0] != access.Begun || !strings.Contains(got[1], "unexpected EOF") {
		t.Errorf("the audit log: %q", got)
	}
}

// zeros is an endless file.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// TestSizeOfUploads: a file above the free space of the store is refused and removed.
func TestSizeOfUploads(t *testing.T) {
	w := newWorld(t, 1<<20)
	w.refusedWith(t, w.upload(t, io.LimitReader(zeros{}, 1<<20+1)), http.StatusInsufficientStorage, "full")
	if out := w.upload(t, io.LimitReader(zeros{}, 1<<20)); out.Code != http.StatusOK {
		t.Errorf("a file that fits: %d %s", out.Code, out.Body)
	}
}
