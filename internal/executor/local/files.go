package local

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"strconv"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
)

// Put implements executor.Files. The new file is staged beside its place.
func (x *Executor) Put(ctx context.Context, f executor.File, from func() (io.ReadCloser, error),
	o executor.Options) (*executor.PutResult, error) {
	if err := host.CheckPath(f.Path); err != nil {
		return nil, err
	}
	l, err := x.files.enterCommand(ctx, o)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	want, old, err := x.files.wantedFile(f)
	if err != nil {
		return nil, err
	}
	same := false
	if old != nil && old.Size == f.Size {
		digest, err := x.files.digestOf(f.Path)
		if err != nil {
			return nil, err
		}
		same = digest == f.Digest
	}
	if same && old.UID == want.uid && old.GID == want.gid && old.Mode == want.mode {
		return &executor.PutResult{}, nil
	}
	rec, err := x.store.BeginCommand(x.files.record(executor.Command{Action: "copy", Argv: [][]string{{f.Path}}}, o))
	if err != nil {
		return nil, err
	}
	if same {
		err = x.files.own(f.Path, want)
	} else {
		err = x.files.replaceFile(ctx, f, want, from)
	}
	res := &executor.CommandResult{}
	if err != nil {
		err, res.Exit = fmt.Errorf("cannot copy to %s: %w", f.Path, err), 1
	}
	err = joinRecord(err, x.store.EndCommand(x.files.ended(rec, res, err)))
	return &executor.PutResult{ID: rec.ID, Changed: err == nil, Sent: !same}, err
}

// ownership is the owner, group and mode of a file.
type ownership struct{ uid, gid, mode uint32 }

// wantedFile returns the desired ownership of a file, and the present status of its path,
// nil if nothing is there.
func (x *files) wantedFile(f executor.File) (ownership, *host.Stat, error) {
	want := ownership{mode: 0o644}
	st, err := x.host.Lstat(f.Path)
	old := &st
	switch {
	case errors.Is(err, fs.ErrNotExist):
		old = nil
	case err != nil:
		return want, nil, fmt.Errorf("cannot copy to %s: %w", f.Path, err)
	case st.Type != image.Regular:
		return want, nil, fmt.Errorf("cannot copy to %s: the path is a %s on the target; name the file itself", f.Path,
			st.Type)
	default:
		want = ownership{st.UID, st.GID, st.Mode}
	}
	if f.Owner != "" {
		if want.uid, err = x.names.UID(f.Owner); err != nil {
			return want, nil, fmt.Errorf("cannot copy to %s: %w", f.Path, err)
		}
	}
	if f.Group != "" {
		if want.gid, err = x.names.GID(f.Group); err != nil {
			return want, nil, fmt.Errorf("cannot copy to %s: %w", f.Path, err)
		}
	}
	if f.Mode != "" {
		m, err := strconv.ParseUint(f.Mode, 8, 12)
		if err != nil {
			return want, nil, fmt.Errorf("cannot use the mode %q: write it as an octal number such as 0644", f.Mode)
		}
		want.mode = uint32(m)
	}
	return want, old, nil
}

func (x *files) digestOf(path string) (string, error) {
	f, err := x.host.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return digestText(h), nil
}

func digestText(h hash.Hash) string { return "sha256:" + hex.EncodeToString(h.Sum(nil)) }

// own gives a file that is there its owner and mode.
func (x *files) own(path string, want ownership) error {
	n, err := x.host.OpenNode(path)
	if err != nil {
		return err
	}
	err = n.Chown(want.uid, want.gid)
	if err == nil {
		err = n.Chmod(want.mode)
	}
	if err = errors.Join(err, n.Close()); err == nil {
		dir, _ := host.SplitPath(path)
		err = x.host.SyncFS(dir)
	}
	return err
}

// replaceFile stages the content beside the path and renames it into place. It first
// removes the temporary file of an earlier, interrupted copy.
func (x *files) replaceFile(ctx context.Context, f executor.File, want ownership,
	from func() (io.ReadCloser, error)) error {
	dir, base := host.SplitPath(f.Path)
	temp := host.JoinPath(dir, ".fettle-copy-"+journal.DigestOf([]byte(base))[7:23]+"~")
	if err := x.host.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	content, err := from()
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = content.Close() })
	seen := &watched{Reader: content}
	if err = x.stage(temp, f, want, seen); err != nil && seen.broke {
		x.keepPart(temp, f.Digest)
	}
	if !stop() && err != nil {
		err = context.Cause(ctx)
	} else {
		_ = content.Close()
	}
	if err == nil {
		err = x.host.Rename(temp, f.Path)
	}
	if err != nil {
		_ = x.host.Remove(temp)
		return err
	}
	x.store.DropPartial(f.Digest)
	return x.host.SyncDir(dir)
}

// watched tells whether a reader broke off before its end.
type watched struct {
	io.Reader
	broke bool
}

func (w *watched) Read(b []byte) (int, error) {
	n, err := w.Reader.Read(b)
	w.broke = err != nil && err != io.EOF
	return n, err
}

// keepPart stores the received part of a file for the next attempt to copy it. If storing
// fails, the next attempt starts from the beginning.
func (x *files) keepPart(temp, digest string) {
	f, err := x.host.Open(temp)
	if err != nil {
		return
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.Size > 0 {
		_ = x.store.SavePartial(digest, plainReader{f})
	}
}

// stage writes a file with its owner and mode, durably, and refuses content that is
// not what was announced.
func (x *files) stage(temp string, f executor.File, want ownership, content io.Reader) error {
	to, err := x.host.Create(temp)
	if err != nil {
		return err
	}
	h := sha256.New()
	n, err := io.CopyBuffer(io.MultiWriter(plainWriter{to}, h), plainReader{io.LimitReader(content, f.Size+1)},
		make([]byte, 256<<10))
	if err == nil && (n != f.Size || digestText(h) != f.Digest) {
		err = errors.New("the file changed while it was read: copy it again")
	}
	if err == nil {
		err = to.Chown(want.uid, want.gid)
	}
	if err == nil {
		err = to.Chmod(want.mode)
	}
	if err == nil {
		err = to.Sync()
	}
	return errors.Join(err, to.Close())
}

// plainWriter and plainReader have io.CopyBuffer use its buffer.
type (
	plainWriter struct{ io.Writer }
	plainReader struct{ io.Reader }
)

// Get implements executor.Files.
func (x *Executor) Get(ctx context.Context, path string, to io.Writer) (executor.File, error) {
	out := executor.File{Path: path}
	if err := host.CheckPath(path); err != nil {
		return out, err
	}
	st, err := x.host.Lstat(path)
	if err == nil && st.Type != image.Regular {
		err = fmt.Errorf("it is a %s; name the file itself", st.Type)
	}
	if err != nil {
		return out, fmt.Errorf("cannot fetch %s: %w", path, err)
	}
	f, err := x.host.Open(path)
	if err != nil {
		return out, fmt.Errorf("cannot fetch %s: %w", path, err)
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.CopyBuffer(io.MultiWriter(plainWriter{to}, h), plainReader{f}, make([]byte, 256<<10))
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return out, fmt.Errorf("cannot fetch %s: %w", path, err)
	}
	out.Size, out.Digest, out.Mode = n, digestText(h), fmt.Sprintf("%04o", st.Mode)
	out.Owner, out.Group = x.names.UserName(st.UID), x.names.GroupName(st.GID)
	return out, nil
}
