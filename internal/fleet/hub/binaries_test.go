package hub_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/fleet/route"
)

// A binary reaches the selected agents, which may read it only then. Targets that enrol later and
// match get it too. Only an admin can upload a binary.
func TestBinaries(t *testing.T) {
	w := newWorld(t)
	w.commit(map[string]string{"fettle.hcl": "target_group \"all\" {\n  labels = {}\n  modules = [\"web\"]\n}\n",
		"modules/web/module.hcl": "file \"/etc/motd\" {\n  content = \"one\"\n}\n"})
	w.birth()
	w.start()
	token := func(labels map[string]string) string {
		var tok document.NewToken
		w.ask("POST", "/v1/tokens", document.TokenRequest{Labels: labels}, &tok)
		return tok.Secret
	}
	id, link := w.agent("web1", token(map[string]string{"canary": "yes"}))
	other, otherLink := w.agent("web2", token(nil))
	w.binaryOf(id, link, "")
	w.binaryOf(other, otherLink, "")

	w.ask("POST", "/v1/users", document.UserRequest{Name: "ann", Roles: []string{"operate"}}, &document.Done{})
	var login document.NewLogin
	w.ask("POST", "/v1/users/ann/login", document.LoginRequest{}, &login)
	authority, err := client.Authority(t.Context(), w.api)
	if err != nil {
		t.Fatal(err)
	}
	ann, err := client.New(client.Login{Hub: w.api, Token: login.Secret, Authority: authority})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ann.UploadBinary(t.Context(), strings.NewReader("evil")); err == nil ||
		!strings.Contains(err.Error(), "right") {
		t.Errorf("who may operate gives a program: %v", err)
	}
	root, err := client.New(client.Login{Hub: "unix://" + filepath.Join(w.dir, "hub.sock")})
	if err != nil {
		t.Fatal(err)
	}
	file := bytes.Repeat([]byte("program"), 100_000)
	b, err := root.UploadBinary(t.Context(), bytes.NewReader(file))
	if err != nil || b.Size != int64(len(file)) {
		t.Fatal(b, err)
	}
	missing := fleet.Binary{Version: "1", Files: map[string]fleet.Bundle{"amd64": {Digest: "sha256:" +
		strings.Repeat("a", 64), Size: 7}}}
	if _, err := client.Post(t.Context(), root, route.SetBinary(), document.BinaryRequest{Select: []string{"web1"},
		Binary: missing}); err == nil || !strings.Contains(err.Error(), "does not have the binary") {
		t.Errorf("a program without its file: %v", err)
	}
	if n, _ := fetch(t, w, id, b); n != http.StatusForbidden && n != http.StatusNotFound {
		t.Errorf("a program is given to who is not to have it: %d", n)
	}
	p := fleet.Binary{Version: "1.5", Files: map[string]fleet.Bundle{"amd64": b}}
	if _, err := client.Post(t.Context(), root, route.SetBinary(),
		document.BinaryRequest{Select: []string{"label:canary=yes"}, Binary: p}); err != nil {
		t.Fatal(err)
	}
	w.binaryOf(id, link, "1.5")
	if n, got := fetch(t, w, id, b); n != http.StatusOK || !bytes.Equal(got, file) {
		t.Errorf("%d, %d bytes", n, len(got))
	}
	if n, _ := fetch(t, w, other, b); n == http.StatusOK {
		t.Error("a program is given to who is not selected")
	}
	w.binaryOf(other, otherLink, "")
	late, lateLink := w.agent("web3", token(map[string]string{"canary": "yes"}))
	w.binaryOf(late, lateLink, "1.5")
	p.Version = "1.6"
	if _, err := client.Post(t.Context(), root, route.SetBinary(),
		document.BinaryRequest{Select: []string{"*"}, Binary: p}); err != nil {
		t.Fatal(err)
	}
	w.binaryOf(id, link, "1.6")
	w.binaryOf(other, otherLink, "1.6")
	page, err := client.Get(t.Context(), root, route.Binaries())
	if err != nil || len(page.Binaries) != 2 || page.Binaries[0].Binary.Version != "1.6" {
		t.Errorf("%+v %v", page, err)
	}
}

// binaryOf waits until the assignment of a target has a binary; "" means none.
func (w *world) binaryOf(id *pki.Identity, link *bus.Link, version string) {
	w.t.Helper()
	until(w.t, "the program "+version+" of "+id.Name, func() (fleet.Assignment, bool) {
		have, _ := json.Marshal(fleet.Have{})
		ctx, stop := context.WithTimeout(w.t.Context(), 10*time.Second)
		defer stop()
		envelope, err := link.Ask(ctx, fleet.MessageAssignment, have)
		if err != nil || len(envelope) == 0 {
			return fleet.Assignment{}, false
		}
		a, err := fleet.OpenAssignment(envelope, id.Keys(nil, time.Now(), time.Time{}))
		if err != nil {
			w.t.Fatal(err)
		}
		if a.Binary == nil {
			return a, version == ""
		}
		return a, a.Binary.Version == version
	})
}

// fetch fetches content as a target.
func fetch(t *testing.T, w *world, id *pki.Identity, b fleet.Bundle) (status int, text []byte) {
	t.Helper()
	conf, err := idTLS(id)()
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: conf}
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.api+content.Path+b.Digest, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := (&http.Client{Transport: transport}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err = io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, text
}
