package journal_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"path"
	"strings"
	"syscall"
	"testing"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
)

// frames makes a journal of these payloads.
func frames(payloads ...string) []byte {
	out := []byte("FETTLEWAL1\n")
	for i, p := range payloads {
		b := append(binary.LittleEndian.AppendUint64(nil, uint64(i+1)), p...)
		out = binary.LittleEndian.AppendUint32(out, uint32(len(p)))
		out = binary.LittleEndian.AppendUint32(out, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
		out = append(out, b...)
	}
	return out
}

// TestHeaders: a journal whose header does not match its run is refused.
func TestHeaders(t *testing.T) {
	var corrupt *journal.CorruptError
	var newer *journal.NewerFormatError
	for name, c := range map[string]struct {
		text []byte
		as   any
		want string
	}{
		"its own":        {frames(`{"k":"begin","run":{"format":1,"run":1}}`), nil, ""},
		"another run's":  {frames(`{"k":"begin","run":{"format":1,"run":2}}`), &corrupt, "its header names run 2"},
		"no header":      {frames(`{"k":"begin"}`), &corrupt, "does not begin with its header"},
		"another record": {frames(`{"k":"note","run":{"format":1,"run":1}}`), &corrupt, "does not begin with its header"},
		"a newer header": {frames(`{"k":"begin","run":{"format":2,"run":1}}`), &newer,
			"the journal of run 1: a newer fettle"},
		"a newer journal":  {[]byte("FETTLEWAL12\n"), &newer, "the journal of run 1: a newer fettle"},
		"a damaged magic":  {append([]byte("FETTLEWAL9x\n"), frames(`{"k":"begin","run":{"format":1,"run":1}}`)...), nil, ""},
		"no JSON":          {frames(`{"k":"begin","run":{"format":1,"run":1}}`, `{"k":}`), nil, ""},
		"nothing":          {nil, nil, ""},
		"only the magic":   {frames(), nil, ""},
		"the oldest magic": {[]byte("FETTLEWAL0\n"), nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			fsys := mem.NewFS(mem.Options{})
			s := open(t, fsys)
			overwrite(t, fsys, "/journal/000001.wal", c.text)
			_, err := s.Read(1)
			switch {
			case c.as == nil && err != nil:
				t.Errorf("error %v", err)
			case c.as != nil && (!errors.As(err, c.as) || !strings.Contains(err.Error(), c.want)):
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func TestJournalLimits(t *testing.T) {
	fsys := mem.NewFS(mem.Options{})
	s := open(t, fsys)
	j := must(s.Begin(header(1, 0)))(t)
	if j.Run() != 1 {
		t.Errorf("it is run %d", j.Run())
	}
	size := must(fsys.Lstat("/journal/000001.wal"))(t).Size
	check(t, j.Append(journal.Record{Kind: journal.Note, Text: strings.Repeat("a", 1<<20-400)}))
	if got := must(fsys.Lstat("/journal/000001.wal"))(t).Size; got != size {
		t.Errorf("less than a megabyte was written at once: %d bytes", got-size)
	}
	check(t, j.Append(journal.Record{Kind: journal.Note, Text: strings.Repeat("b", 400)}))
	if got := must(fsys.Lstat("/journal/000001.wal"))(t).Size; got < size+1<<20 {
		t.Errorf("more than a megabyte is kept in memory: %d bytes written", got-size)
	}
	check(t, j.Append(journal.Record{Kind: journal.Note, Text: strings.Repeat("c", 1<<24-200)}))
	check(t, j.Sync())
	if recs := must(s.Read(1))(t); len(recs) != 4 || len(recs[3].Text) != 1<<24-200 {
		t.Errorf("%d records", len(recs))
	}
	if err := j.Append(journal.Record{Kind: journal.Note, Addr: "file:/a",
		Text: strings.Repeat("d", 1<<24)}); err == nil || !strings.Contains(err.Error(), "a record about file:/a has 16777") {
		t.Errorf("error %v", err)
	}
	if err := j.Sync(); err == nil {
		t.Error("the journal goes on after a record that it refused")
	}
	check(t, j.Close())
	check(t, j.Close())
	if err := j.Append(move(1)); err == nil {
		t.Error("a closed journal takes records")
	}
	_, err := s.Begin(header(2, 0))
	if err == nil || !strings.Contains(err.Error(), "run 1 is not finished; recover it first with: fettle apply") {
		t.Errorf("error %v", err)
	}
	if err := s.SaveState(journal.State{}); err == nil {
		t.Error("run 0 has a state to save")
	}
}

// TestRewind: a write that a full disk cut short is repeated at its place, with the space of the
// ballast.
func TestRewind(t *testing.T) {
	fsys := mem.NewFS(mem.Options{})
	full := false
	s := open(t, fsys.Counted(func(op, path string) error {
		if _, err := fsys.Lstat("/ballast"); err == nil && full && op == host.OpWrite && path == "/journal/000001.wal" {
			return syscall.ENOSPC
		}
		return nil
	}))
	check(t, s.EnsureBallast())
	j := must(s.Begin(header(1, 0)))(t)
	full = true
	check(t, errors.Join(j.Append(move(1)), j.Sync(), j.Append(move(2)), j.Sync(), j.Close()))
	if recs := must(s.Read(1))(t); len(recs) != 3 {
		t.Errorf("%d records", len(recs))
	}
}

// TestBallast: it is there in full or not at all.
func TestBallast(t *testing.T) {
	for _, c := range []struct {
		name   string
		before int // bytes there, -1 for none
		fail   string
		want   int64 // -1 for none
	}{
		{"none", -1, "", 1<<21 + 7}, {"short", 100, "", 1<<21 + 7}, {"full", 1<<21 + 7, "", 1<<21 + 7},
		{"more", 1<<21 + 9, "", 1<<21 + 9},
		{"cannot be made", -1, host.OpCreate, -1}, {"cannot be written", -1, host.OpWrite, -1},
		{"cannot be synced", -1, host.OpSync, -1},
		{"cannot be removed", 100, host.OpRemove, 100}, {"its name cannot be synced", -1, host.OpSyncDir, 1<<21 + 7},
	} {
		t.Run(c.name, func(t *testing.T) {
			fsys := mem.NewFS(mem.Options{})
			_ = open(t, fsys)
			if c.before >= 0 {
				overwrite(t, fsys, "/ballast", make([]byte, c.before))
			}
			ops := 0
			s, err := journal.OpenWith(fsys.Counted(func(op, path string) error {
				if ops++; op == c.fail {
					return syscall.ENOSPC
				}
				return nil
			}), journal.Options{Ballast: 1<<21 + 7})
			check(t, err)
			err = s.EnsureBallast()
			if (err != nil) != (c.fail != "") || c.fail == host.OpCreate &&
				!strings.Contains(err.Error(), "cannot reserve 2 MiB") {
				t.Errorf("error %v", err)
			}
			st, err := fsys.Lstat("/ballast")
			if c.want < 0 && !errors.Is(err, fs.ErrNotExist) || c.want >= 0 &&
				(err != nil || st.Size != c.want || st.Type != image.Regular) {
				t.Errorf("%+v, %v; want %d bytes", st, err, c.want)
			}
			if int64(c.before) >= 1<<21+7 && ops > 0 {
				t.Errorf("%d operations for a ballast that is there", ops)
			}
		})
	}
	s, err := journal.OpenWith(mem.NewFS(mem.Options{}), journal.Options{})
	check(t, errors.Join(err, s.EnsureBallast(), s.ReleaseBallast()))
	if _, err := s.FS().Lstat("/ballast"); err == nil {
		t.Error("no ballast was asked for, and one is there")
	}
}

// TestStateDirectory: its modes, and the formats that are refused.
func TestStateDirectory(t *testing.T) {
	for text, want := range map[string]string{"x\n": `contains "x\n" instead of 1`, "0\n": "instead of 1",
		"": "instead of 1", "2\n": "a newer fettle", strings.Repeat("1", 65): "longer than 64 bytes", " 1 \n": ""} {
		fsys := mem.NewFS(mem.Options{})
		overwrite(t, fsys, "/format", []byte(text))
		if _, err := journal.Open(fsys); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
	fsys, _, _ := readWorld(t)
	var walk func(dir string)
	walk = func(dir string) {
		for _, name := range must(fsys.ReadDir(dir))(t) {
			name = path.Join(dir, name)
			st := must(fsys.Lstat(name))(t)
			if want := map[image.FileType]uint32{image.Directory: 0o700, image.Regular: 0o600}[st.Type]; st.Mode != want {
				t.Errorf("%s has mode %o, want %o", name, st.Mode, want)
			}
			if strings.HasSuffix(name, ".tmp") || strings.HasPrefix(path.Base(name), "tmp-") {
				t.Errorf("%s is left", name)
			}
			if st.Type == image.Directory {
				walk(name)
			}
		}
	}
	walk("/")
	s := open(t, struct{ host.FS }{fsys})
	if _, err := s.Lock("me"); !errors.Is(err, host.ErrUnsupported) {
		t.Errorf("a lock on what has none: %v", err)
	}
	if who, err := s.LockHolder(); who != "" || err != nil {
		t.Errorf("%q holds it, %v", who, err)
	}
}

type brokenReader struct{ n int }

func (r *brokenReader) Read(b []byte) (int, error) {
	if r.n <= 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n := min(r.n, len(b))
	r.n -= n
	return n, nil
}

// TestObjectsThatAreNone: an invalid name, a size above the limit or a failed read is refused, and
// no file remains.
func TestObjectsThatAreNone(t *testing.T) {
	fsys := mem.NewFS(mem.Options{})
	s := open(t, fsys)
	for _, digest := range []string{"", "sha256:", "md5:" + strings.Repeat("a", 64), "sha256:" + strings.Repeat("A", 64),
		"sha256:" + strings.Repeat("a", 63), "sha256:" + strings.Repeat("a", 65)} {
		if _, _, err := s.Open(digest); err == nil || s.Has(digest) || !strings.Contains(err.Error(), "64 hex digits") {
			t.Errorf("%q: %v", digest, err)
		}
	}
	for _, n := range []int{0, 10, 1 << 20, 1<<20 + 1, 3 << 20} {
		if _, _, err := s.Put(&brokenReader{n}); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("after %d bytes: %v", n, err)
		}
	}
	f := must(fsys.Create("/big"))(t)
	check(t, f.Truncate(64<<20+1))
	big, _, err := s.Put(f)
	check(t, err)
	if _, err := s.ReadObject(big); err == nil ||
		!strings.Contains(err.Error(), "it has 67108865 bytes, and the limit is 67108864") {
		t.Errorf("error %v", err)
	}
	for range 2 { // the second time it is there already
		if digest, size, err := s.Put(bytes.NewReader(largeText())); err != nil || size != 1_075_000 ||
			digest != journal.DigestOf(largeText()) {
			t.Errorf("%s, %d, %v", digest, size, err)
		}
	}
	for _, name := range must(fsys.ReadDir("/objects"))(t) {
		if strings.HasPrefix(name, "tmp-") {
			t.Errorf("%s is left", name)
		}
	}
}

// TestMarshalErrors: what JSON cannot hold is an error and no panic.
func TestMarshalErrors(t *testing.T) {
	if _, err := journal.Marshal(make(chan int)); err == nil {
		t.Error("a channel was written")
	}
	if err := journal.Unmarshal([]byte("{"), &journal.Record{}); err == nil {
		t.Error("half an object was read")
	}
	odd := map[string]any{"\xff": []any{"\xfe", nil, 1.5, map[string]string{"a": "\U0010FF85"}}}
	b := must(journal.Marshal(odd))(t)
	var back map[string]any
	check(t, journal.Unmarshal(b, &back))
	list, ok := back["\xff"].([]any)
	if !ok || len(list) != 4 || list[0] != "\xfe" || list[3].(map[string]any)["a"] != "\U0010FF85" {
		t.Errorf("%q came back as %q", odd, back)
	}
}
