package savedplan_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/savedplan"
	"fettle.dev/fettle/internal/step"
)

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// request has one file with content, as a repository gives it.
func request(t *testing.T) executor.Request {
	t.Helper()
	content := []byte("hello\n")
	digest := digestOf(content)
	list, ds := step.Parse("list.steps", []byte("COPY "+digest+" /etc/motd mode=0644 owner=root group=root\n"))
	if err := ds.Err(); err != nil {
		t.Fatal(err)
	}
	return executor.Request{
		Target: "web1", List: list, Repair: true,
		Blobs: map[string]kind.Blob{digest: {Digest: digest, Size: int64(len(content)), Data: content}},
	}
}

func write(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "web1.plan")
	if err := savedplan.Write(file, savedplan.Origin{Version: "1", Far: true}, request(t), &plan.Plan{}); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestWriteAndOpen: a plan is read as it was written, and only its owner can read the file.
func TestWriteAndOpen(t *testing.T) {
	file := write(t)
	st, err := os.Stat(file)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the mode is %v, %v", st.Mode(), err)
	}
	p, err := savedplan.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if want := request(t); !p.Far || p.Request.Target != "web1" || !p.Request.Repair ||
		p.Request.List.Digest() != want.List.Digest() || p.Digest != (&plan.Plan{}).Digest() {
		t.Errorf("it is read as %+v", p)
	}
	for digest, b := range p.Request.Blobs {
		text, err := b.Tree.ReadFile(b.Path)
		if err != nil || digestOf(text) != digest {
			t.Errorf("the content of %s is %q, %v", digest, text, err)
		}
	}
}

// TestMissing: a missing file is recognizable, so that a command can name the next command.
func TestMissing(t *testing.T) {
	if _, err := savedplan.Open(filepath.Join(t.TempDir(), "no.plan")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the error is %v", err)
	}
	if _, err := savedplan.Open(t.TempDir()); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory is opened with %v", err)
	}
}

// TestMissingContent: a plan whose content is missing is not written, and leaves no file.
func TestMissingContent(t *testing.T) {
	dir := t.TempDir()
	req := request(t)
	req.Blobs = nil
	if err := savedplan.Write(filepath.Join(dir, "x"), savedplan.Origin{}, req, &plan.Plan{}); err == nil {
		t.Error("it is written")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// TestDamaged: a file with changed, missing or added bytes is refused, or it is the same plan.
func TestDamaged(t *testing.T) {
	file := write(t)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	refused := 0
	for range 2000 {
		if err := os.WriteFile(file, damage(r, text), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := savedplan.Open(file)
		if err != nil {
			refused++
			continue
		}
		want := request(t)
		if p.Request.Target != want.Target || p.Request.List.Digest() != want.List.Digest() ||
			p.Digest != (&plan.Plan{}).Digest() || p.Request.Policy != want.Policy {
			t.Errorf("another plan is read: %+v", p)
		}
		p.Close()
	}
	if refused < 1000 {
		t.Errorf("only %d of 2000 damaged files are refused", refused)
	}
}

func damage(r *rand.Rand, text []byte) []byte {
	out := append([]byte{}, text...)
	switch at := r.IntN(len(out)); r.IntN(3) {
	case 0:
		out[at] ^= byte(1 + r.IntN(255))
	case 1:
		out = append(out[:at], out[at+1:]...)
	default:
		out = append(out[:at], append([]byte{byte(r.IntN(256))}, out[at:]...)...)
	}
	return out
}
