package supportbundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/plan"
)

// TestValuesThatMayBeSecretAreLeftOut: only known fields have values, and addresses that contain text of the
// user are masked.
func TestValuesThatMayBeSecretAreLeftOut(t *testing.T) {
	c := changeOf(plan.Change{Addr: addr.File("/etc/app"), Differences: []image.Difference{
		{Field: "mode", Old: "0600", New: "0644"}, {Field: "content", Old: "hunter2", New: "hunter3"},
		{Field: "PASSWORD=hunter2"}}})
	want := []map[string]string{{"field": "mode", "old": "0600", "new": "0644"}, {"field": "content"},
		{"field": "another"}}
	for i, d := range c.Differences {
		if len(d) != len(want[i]) || d["field"] != want[i]["field"] || d["new"] != want[i]["new"] {
			t.Errorf("difference %d is %v, want %v", i, d, want[i])
		}
	}
	for text, want := range map[string]string{"deploy": "exec:deploy",
		"curl -H hunter2": "exec:(15 characters)"} {
		if got := address(addr.New(addr.KindExec, text)); got != want {
			t.Errorf("the address %s is shown as %s, want %s", text, got, want)
		}
	}
}

// TestWrite: an error is listed by its kind, without its text.
func TestWrite(t *testing.T) {
	b := New()
	b.Failed("read the status", errors.New("the password is hunter2"))
	var out bytes.Buffer
	if err := b.Write(&out, time.Unix(1, 5)); err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(&out)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err != nil {
			break
		}
		text, _ := io.ReadAll(r)
		names = append(names, h.Name)
		if strings.Contains(string(text), "hunter2") || h.Mode != 0o600 || !h.ModTime.Equal(time.Unix(1, 0)) {
			t.Errorf("%s with mode %o of %s: %s", h.Name, h.Mode, h.ModTime, text)
		}
	}
	if got := strings.Join(names, " "); got != "fettle-support/README fettle-support/missing.json" {
		t.Errorf("the archive has %s", got)
	}
}
