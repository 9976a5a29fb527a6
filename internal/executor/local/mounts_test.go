package local_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/local"
	"fettle.dev/fettle/internal/host"
	hostlocal "fettle.dev/fettle/internal/host/local"
)

// inNamespace runs the rest of the test as another process that may mount.
func inNamespace(t *testing.T) bool {
	t.Helper()
	asRoot(t)
	const key = "FETTLE_TEST_MOUNTS"
	if os.Getenv(key) != "" {
		return true
	}
	cmd := exec.Command("unshare", "--mount", "--propagation", "private", os.Args[0], "-test.run=^"+t.Name()+"$",
		"-test.v")
	cmd.Env = append(os.Environ(), key+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

func mount(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("mount", args...).CombinedOutput(); err != nil {
		t.Fatalf("mount %v: %v %s", args, err, out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", args[len(args)-1]).Run() })
}

// TestBindMountedTarget: it cannot be renamed over, so it is written in place.
func TestBindMountedTarget(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	w := onDisk(t, t.TempDir())
	defer w.close()
	w.write("/etc/x", "one\n")
	w.write("/etc/source", "two\nlines\n")
	mount(t, "--bind", filepath.Join(w.root, "etc/source"), filepath.Join(w.root, "etc/x"))
	before := past{0, w.look()}
	if _, ok := w.applyLawfully("COPY 1 /etc/x\n"); !ok {
		t.Fatal("a mounted file was not written")
	}
	if b, err := os.ReadFile(filepath.Join(w.root, "etc/x")); err != nil || string(b) != "one\n" {
		t.Errorf("the mounted file holds %q, %v", b, err)
	}
	w.rollback(0)
	if d := differs(before.seen, w.look(), nothing); len(d) > 0 {
		t.Errorf("after rollback:\n%s", strings.Join(d, "\n"))
	}
}

// TestReadOnlyFileSystem: the step fails with its place, the others are undone.
func TestReadOnlyFileSystem(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	w := onDisk(t, t.TempDir())
	defer w.close()
	w.mkdirs("/srv")
	mount(t, "-t", "tmpfs", "-o", "ro", "none", filepath.Join(w.root, "srv"))
	if err := w.refused("COPY 0 /etc/a\nCOPY 1 /srv/x\n"); !strings.Contains(err.Error(), "read-only") {
		t.Error(err)
	}
}

// TestFullDisk: neither a full target nor a full state directory leaves
// anything half done; the ballast gives room for undo.
func TestFullDisk(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	big := strings.Repeat("0123456789abcdef", 64<<10) // 1 MiB
	for _, dir := range []string{"srv", "var/lib/fettle"} {
		t.Run(dir, func(t *testing.T) {
			w := onDisk(t, t.TempDir())
			defer w.close()
			w.mkdirs("/srv")
			mount(t, "-t", "tmpfs", "-o", "size=8m", "none", filepath.Join(w.root, dir))
			h := openDisk(t, filepath.Join(w.root, "var/lib/fettle"), nil)
			defer h.(*hostlocal.Host).Close()
			var err error
			if w.x, err = local.New(w.h, h, local.Options{Ballast: 2 << 20}); err != nil {
				t.Fatal(err)
			}
			r := request(t, "COPY 0 /etc/a\n")
			for i := range 12 { // more than the 8 MiB
				text := big + string(rune('a'+i))
				r2 := requestOf(t, "/srv/big"+string(rune('a'+i)), text)
				r.List = append(r.List, r2.List...)
				for d, b := range r2.Blobs {
					r.Blobs[d] = b
				}
			}
			was := w.look()
			rep, err := w.x.Apply(context.Background(), r, nil, executor.Options{OnFailure: "undo"}, nil)
			if !host.IsNoSpace(err) && (rep == nil || rep.Failed == nil || !strings.Contains(rep.Failed.Error, "no space")) {
				t.Fatalf("a full disk was not noticed: %v %+v", err, rep)
			}
			if d := differs(was, w.look(), nothing); len(d) > 0 {
				t.Errorf("%v, and it left:\n%s", err, strings.Join(d, "\n"))
			}
		})
	}
}

// requestOf is one COPY of a text.
func requestOf(t *testing.T, p, text string) executor.Request {
	m := &machine{t: t}
	return m.request("COPY x "+p+"\n", map[string]string{"x": text})
}
