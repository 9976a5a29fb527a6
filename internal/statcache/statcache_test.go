package statcache_test

import (
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/statcache"
)

const someDigest = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

var now = time.Unix(1_700_000_000, 0)

// at is the stat of a file that changed so long ago.
func at(age time.Duration) host.Stat {
	t := now.Add(-age).UnixNano()
	return host.Stat{Type: image.Regular, Dev: 1, Ino: 7, Size: 3, MTime: t, CTime: t}
}

func load(state host.FS) *statcache.Cache {
	return statcache.Load(state, func() time.Time { return now })
}

func all(string) bool { return true }

func TestRememberedAcrossProcesses(t *testing.T) {
	state := mem.NewFS(mem.Options{})
	c := load(state)
	c.Remember("/etc/a", at(time.Hour), someDigest)
	c.Remember("/etc/\xff\n", at(time.Hour), someDigest)
	c.Remember("/etc/gone", at(time.Hour), someDigest)
	if err := c.Save(func(p string) bool { return p != "/etc/gone" }); err != nil {
		t.Fatal(err)
	}
	c = load(state)
	for path, want := range map[string]bool{"/etc/a": true, "/etc/\xff\n": true, "/etc/gone": false, "/etc/other": false} {
		if d, ok := c.Digest(path, at(time.Hour)); ok != want || ok && d != someDigest {
			t.Errorf("%q: %s %v, want %v", path, d, ok, want)
		}
	}
	if c.Dirty() {
		t.Error("a cache that was only read is dirty")
	}
}

// Anything that lstat tells apart makes the file be read again; times that a
// program forged do not help, since the change time decides.
func TestAnyDifferenceCounts(t *testing.T) {
	c := load(mem.NewFS(mem.Options{}))
	was := at(time.Hour)
	c.Remember("/etc/a", was, someDigest)
	for name, change := range map[string]func(*host.Stat){
		"inode": func(s *host.Stat) { s.Ino++ }, "device": func(s *host.Stat) { s.Dev++ },
		"size":  func(s *host.Stat) { s.Size++ },
		"mtime": func(s *host.Stat) { s.MTime++ }, "ctime with a forged mtime": func(s *host.Stat) { s.CTime++ },
	} {
		st := was
		change(&st)
		if _, ok := c.Digest("/etc/a", st); ok {
			t.Errorf("another %s was not noticed", name)
		}
	}
}

// A file that changed within the grain of the clock may change again without
// its times showing it. So may one whose change lies in the future.
func TestRacyFilesAreNotRemembered(t *testing.T) {
	for age, want := range map[time.Duration]bool{0: false, time.Millisecond: false, 10 * time.Millisecond: false,
		-time.Hour: false, time.Second: true} {
		c := load(mem.NewFS(mem.Options{}))
		c.Remember("/etc/a", at(age), someDigest)
		if _, ok := c.Digest("/etc/a", at(age)); ok != want {
			t.Errorf("changed %s ago: remembered %v, want %v", age, ok, want)
		}
	}
}

// saved is a cache file with one entry.
func saved(t testing.TB) []byte {
	t.Helper()
	state := mem.NewFS(mem.Options{})
	c := load(state)
	c.Remember("/etc/a", at(time.Hour), someDigest)
	if err := c.Save(all); err != nil {
		t.Fatal(err)
	}
	f, err := state.Open("/cache/stat")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, 4096)
	n, _ := f.Read(b)
	return b[:n]
}

// holding is a state directory with this cache file.
func holding(t testing.TB, b []byte) host.FS {
	t.Helper()
	state := mem.NewFS(mem.Options{})
	if err := state.Mkdir("/cache", 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := state.Create("/cache/stat")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return state
}

func TestADamagedCacheIsNoCache(t *testing.T) {
	good := saved(t)
	if _, ok := load(holding(t, good)).Digest("/etc/a", at(time.Hour)); !ok {
		t.Fatal("the sound one is not read")
	}
	for i := range good {
		bad := []byte(string(good))
		bad[i] ^= 0x41
		if d, ok := load(holding(t, bad)).Digest("/etc/a", at(time.Hour)); ok {
			t.Fatalf("byte %d flipped and believed: %s", i, d)
		}
	}
	for i := range good {
		if _, ok := load(holding(t, good[:i])).Digest("/etc/a", at(time.Hour)); ok {
			t.Fatalf("cut at %d and believed", i)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(saved(f))
	f.Add([]byte("FETTLESTAT1\n\xff\xff\xff\xff0000"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if d, ok := load(holding(t, b)).Digest("/etc/a", at(time.Hour)); ok && !strings.HasPrefix(d, "sha256:") {
			t.Errorf("%q", d)
		}
	})
}
