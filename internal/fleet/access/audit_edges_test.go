package access_test

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
)

// fileOf returns an audit log with this text.
func fileOf(t *testing.T, text string) *access.File {
	t.Helper()
	disk := mem.NewFS(mem.Options{})
	f, err := disk.OpenAppend("/audit")
	if err == nil {
		_, err = f.Write([]byte(text))
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return &access.File{FS: disk, Path: "/audit"}
}

// TestPageAtEveryPlace: a page from any offset contains the complete records that begin there. An
// offset at which no record begins is refused. An incomplete last record is not read.
func TestPageAtEveryPlace(t *testing.T) {
	for _, text := range []string{"", "\n", "a\nbc\n\ndef\n", "a\nbc\ncut", "cut"} {
		f := fileOf(t, text)
		for limit := range 6 {
			for from := int64(-1); from <= int64(len(text))+1; from++ {
				got, first, next, err := f.Page(from, limit)
				whole := text[:strings.LastIndex(text, "\n")+1]
				if from > int64(len(text)) || from > 0 && text[from-1] != '\n' {
					if !errors.Is(err, access.ErrNoRecord) {
						t.Errorf("%q from %d: %v", text, from, err)
					}
					continue
				}
				want, begin := strings.SplitAfter(whole, "\n"), from
				want = want[:len(want)-1]
				if from < 0 {
					want = want[len(want)-min(limit, len(want)):]
					begin = int64(len(whole) - len(strings.Join(want, "")))
				} else {
					want = strings.SplitAfter(whole[min(from, int64(len(whole))):], "\n")
					want = want[:min(limit, len(want)-1)]
				}
				read := ""
				for _, r := range got {
					read += r + "\n"
				}
				if text := strings.Join(want, ""); err != nil || len(got) != len(want) || read != text || first != begin ||
					next != first+int64(len(text)) {
					t.Errorf("%q from %d, at most %d: %q at %d to %d, %v; want %q at %d", text, from, limit, got, first, next, err,
						want, begin)
				}
			}
		}
	}
}

// TestPageIsOneMiB: a page contains the complete records in its MiB, at the start and at the end.
func TestPageIsOneMiB(t *testing.T) {
	record := strings.Repeat("x", 1<<16-1) + "\n" // 16 of them are a MiB
	for text, want := range map[string][2]int{
		strings.Repeat(record, 20):                {16, 16},
		"\n" + strings.Repeat(record, 20):         {16, 16},
		strings.Repeat(record, 20) + "\n":         {16, 16},
		strings.Repeat(record, 16):                {16, 16},
		strings.Repeat("y"+record, 20):            {15, 15},
		strings.Repeat(record[1:], 20) + "yyyy\n": {16, 17},
	} {
		f := fileOf(t, text)
		for i, from := range []int64{0, -1} {
			got, first, next, err := f.Page(from, 100)
			if err != nil || len(got) != want[i] || next-first > 1<<20 || from < 0 && next != int64(len(text)) {
				t.Errorf("%d bytes from %d: %d records from %d to %d, want %d, %v", len(text), from, len(got), first, next,
					want[i], err)
			}
		}
	}
}

// TestPageOfNoFile: a log that does not exist is empty, and no record begins at a later offset.
func TestPageOfNoFile(t *testing.T) {
	f := &access.File{FS: mem.NewFS(mem.Options{}), Path: "/audit"}
	for from, good := range map[int64]bool{-1: true, 0: true, 1: false} {
		if got, first, next, err := f.Page(from, 9); good != (err == nil) || len(got) > 0 || first != 0 || next != 0 {
			t.Errorf("from %d: %v %d %d %v", from, got, first, next, err)
		}
	}
}

// closed is a file system whose files cannot be opened.
type closed struct{ host.FS }

func (closed) Open(string) (host.File, error) { return nil, fs.ErrPermission }

// TestUnreadableLog: a log that cannot be opened does not count as empty.
func TestUnreadableLog(t *testing.T) {
	f := &access.File{FS: closed{mem.NewFS(mem.Options{})}, Path: "/audit"}
	if _, _, _, err := f.Page(-1, 1); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("page: %v", err)
	}
	if _, err := access.OpenTrail(f, "hub1", start); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("open: %v", err)
	}
}

// torn is a file system whose files fail at an operation after they were opened.
type torn struct {
	host.FS
	op string
}

// tornFile is a file of torn.
type tornFile struct {
	host.File
	op string
}

var errTorn = errors.New("input/output error")

func (f torn) Open(path string) (host.File, error) {
	file, err := f.FS.Open(path)
	return tornFile{file, f.op}, err
}

func (f tornFile) Read(b []byte) (int, error) {
	if f.op == "read" {
		return 0, errTorn
	}
	return f.File.Read(b)
}

func (f tornFile) ReadAt(b []byte, off int64) (int, error) {
	if f.op == "read" {
		return 0, errTorn
	}
	return f.File.ReadAt(b, off)
}

func (f tornFile) Seek(off int64, whence int) (int64, error) {
	if f.op == "seek" {
		return 0, errTorn
	}
	return f.File.Seek(off, whence)
}

// TestLogThatFails: a log that fails while it is read does not count as empty.
func TestLogThatFails(t *testing.T) {
	f := fileOf(t, "a\n")
	for _, op := range []string{"read", "seek"} {
		f := &access.File{FS: torn{f.FS, op}, Path: f.Path}
		for _, from := range []int64{-1, 0} {
			if got, _, _, err := f.Page(from, 1); !errors.Is(err, errTorn) || len(got) > 0 {
				t.Errorf("%s fails, page: %q, %v", op, got, err)
			}
		}
	}
	if _, err := (&access.File{FS: torn{f.FS, "read"}, Path: f.Path}).Records(); !errors.Is(err, errTorn) {
		t.Errorf("records: %v", err)
	}
}

// TestLogThatWasNotRead: writing before reading would overwrite records.
func TestLogThatWasNotRead(t *testing.T) {
	f := fileOf(t, "a\n")
	if _, err := f.Append(t.Context(), [][]byte{[]byte("b")}); err == nil {
		t.Error("a log that was not read is written to")
	}
	if _, err := f.Records(); err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := f.Append(ended, [][]byte{[]byte("b")}); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of the request: %v", err)
	}
	size, err := f.Append(t.Context(), [][]byte{[]byte("b"), []byte("cd")})
	if err != nil || size != 7 {
		t.Errorf("the log has %d bytes, %v", size, err)
	}
	if got, err := f.Records(); err != nil || len(got) != 3 || string(got[2]) != "cd" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestEveryFieldIsText: a record is valid after it was written and read, whatever bytes its fields
// had.
func TestEveryFieldIsText(t *testing.T) {
	bad := "\xff<\u2028"
	s := &tape{}
	trail := access.NewTrail(s, access.Head{Chain: "hub1"}, start)
	for _, e := range []access.Entry{{User: bad}, {Credential: bad}, {Operation: bad}, {Object: bad}, {Outcome: bad},
		{Reason: bad}, {From: bad}, {Request: bad}} {
		if err := trail.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if b := broken(t, s.records, trail.Head()); b != nil {
		t.Error(b)
	}
}

// TestSizeOfRecords: a record of 64 KiB can be written and read, and one of a byte more cannot.
func TestSizeOfRecords(t *testing.T) {
	const most = 64 << 10
	s := &tape{}
	trail := access.NewTrail(s, access.Head{Chain: "hub1"}, start)
	empty := len(written(t, "hub1", 0).records)
	if err := trail.Append(t.Context(), access.Entry{Reason: "x"}); err != nil {
		t.Fatal(err)
	}
	room := most - len(s.records[0]) - empty
	// The first record has an empty prev; later records have 64 digits in it.
	if err := trail.Append(t.Context(), access.Entry{Reason: strings.Repeat("x", room+1-64)}); err != nil ||
		len(s.records[1]) != most {
		t.Fatalf("%d bytes: %v", len(s.records[len(s.records)-1]), err)
	}
	head := trail.Head()
	if err := trail.Append(t.Context(), access.Entry{Reason: strings.Repeat("x", room+2-64)}); err == nil ||
		trail.Head() != head {
		t.Errorf("a larger record moves the head to %v: %v", trail.Head(), err)
	}
	if b := broken(t, s.records, head); b != nil {
		t.Error(b)
	}
	if _, err := access.ParseRecord(append(s.records[1], ' ')); err == nil ||
		!strings.Contains(err.Error(), "are the most") {
		t.Errorf("a larger record is read: %v", err)
	}
}

// TestFormatOfRecords: a record of another format is refused because of its format, not as edited.
func TestFormatOfRecords(t *testing.T) {
	raw := strings.Replace(string(written(t, "hub1", 1).records[0]), "fettle.audit/1", "fettle.audit/2", 1)
	if _, err := access.ParseRecord([]byte(raw)); err == nil ||
		!strings.Contains(err.Error(), "this version of fettle reads fettle.audit/1") {
		t.Error(err)
	}
	if _, err := access.ParseRecord([]byte("{")); err == nil || strings.Contains(err.Error(), "format") {
		t.Errorf("text that is no JSON has no format: %v", err)
	}
}

// TestUnreadableUser: an unreadable record of a user is a failure of the hub, and authenticates no
// user.
func TestUnreadableUser(t *testing.T) {
	d := newDoor(t)
	d.user("ada", access.Reader)
	token := d.bearer("ada", 1e12, access.Reader)
	if _, err := d.users.Put(t.Context(), access.UserKey("ada"), []byte("{")); err != nil {
		t.Fatal(err)
	}
	if who, err := d.ask("Bearer " + token); err == nil || errors.Is(err, fleet.ErrDenied) || who.Name != "" {
		t.Errorf("%v %v", who, err)
	}
	d.put(access.UserKey("ada"), access.User{Name: "eve", Roles: []access.Role{access.Admins}})
	if who, err := d.ask("Bearer " + token); !errors.Is(err, fleet.ErrDenied) {
		t.Errorf("a record of another person lets %v in: %v", who, err)
	}
}
