// Package sealed is a host that returns files with secrets in sealed form. The engine compares,
// stores and shows sealed content like any other content. Content is decrypted when it is written
// to its place, and in the environment of a command. The output of commands is returned without
// known secrets.
//
//	h := sealed.Wrap(real, keys)
//	h.Seal(map[string]string{"/etc/app/password": keyID})
//	f, err := h.Open("/etc/app/password") // reads "fettle-sealed 1…"
package sealed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/secret"
)

// Largest is how large a file may be that is read sealed, in bytes.
const Largest = 64 << 20

// Keys provides keys, sealed texts, and the texts to mask. It must be safe for concurrent use.
type Keys interface {
	// Key returns a key by its ID. The error contains the remedy.
	Key(id string) (secret.Key, error)
	// Content is a small object, by its digest.
	Content(digest string) ([]byte, error)
	// Masker has the secrets of this host.
	Masker() *secret.Masker
}

// Host is another host with sealing. It is safe for concurrent use.
type Host struct {
	host.Host
	keys Keys

	mu    sync.RWMutex
	paths map[string]string
}

var (
	_ host.Host   = (*Host)(nil)
	_ host.Veiled = (*Host)(nil)
	_ host.Bulk   = (*Host)(nil)
	_ host.Reaper = (*Host)(nil)
)

// Wrap reads every file as it is until Seal is called.
func Wrap(h host.Host, keys Keys) *Host { return &Host{Host: h, keys: keys} }

// Seal sets the files and accounts to seal on reading, and the key of each: path, or address of the
// account, to ID. It replaces the earlier setting. It retains the map.
func (h *Host) Seal(paths map[string]string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.paths = paths
}

// Sealing implements host.Veiled.
func (h *Host) Sealing(path string) string {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.paths[path]
}

// Under implements host.Veiled.
func (h *Host) Under(path, key string) host.Reader { return under{h, path, key} }

// Unseal implements host.Veiled.
func (h *Host) Unseal(key string, content []byte) ([]byte, error) {
	k, err := h.keys.Key(key)
	if err != nil {
		return nil, err
	}
	return k.Open(content)
}

// Conceal implements host.Veiled.
func (h *Host) Conceal(key string, content []byte) ([]byte, error) {
	k, err := h.keys.Key(key)
	if err != nil {
		return nil, err
	}
	return k.Seal(content), nil
}

// Reveal implements host.Veiled.
func (h *Host) Reveal(ref secret.Ref) ([]byte, error) {
	content, err := h.keys.Content(ref.Digest)
	if err != nil {
		return nil, err
	}
	return h.Unseal(ref.Key, content)
}

// Open implements host.Reader.
func (h *Host) Open(path string) (host.File, error) { return h.open(path, h.Sealing(path)) }

func (h *Host) open(path, key string) (host.File, error) {
	f, err := h.Host.Open(path)
	if err != nil || key == "" {
		return f, err
	}
	k, err := h.keys.Key(key)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	content, err := io.ReadAll(io.LimitReader(f, Largest+1))
	if err == nil && len(content) > Largest {
		err = fmt.Errorf(
			"cannot encrypt the content of %q: it has more than 64 MiB, the limit for files with secrets; move it away", path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &file{File: f, sealed: bytes.NewReader(k.Seal(content))}, nil
}

// file has the metadata of the real one and reads sealed.
type file struct {
	host.File
	sealed *bytes.Reader
}

var errReadOnly = errors.New("cannot write: the file is open for reading")

func (f *file) Read(b []byte) (int, error)                { return f.sealed.Read(b) }
func (f *file) ReadAt(b []byte, off int64) (int, error)   { return f.sealed.ReadAt(b, off) }
func (f *file) Seek(off int64, whence int) (int64, error) { return f.sealed.Seek(off, whence) }
func (f *file) Write([]byte) (int, error)                 { return 0, errReadOnly }
func (f *file) Truncate(int64) error                      { return errReadOnly }
func (f *file) NextData(off int64) (start, end int64, err error) {
	return min(off, f.sealed.Size()), f.sealed.Size(), nil
}

// under is the host with another key for one path.
type under struct {
	*Host
	path, key string
}

func (u under) Sealing(path string) string {
	if path == u.path {
		return u.key
	}
	return u.Host.Sealing(path)
}

func (u under) Open(path string) (host.File, error) { return u.Host.open(path, u.Sealing(path)) }

// Run implements host.Host: a reference in the environment is replaced by the secret, and secrets
// in the output are masked.
func (h *Host) Run(ctx context.Context, c host.Command) (host.CommandResult, error) {
	return h.run(ctx, c, h.Host.Run)
}

func (h *Host) run(ctx context.Context, c host.Command,
	run func(context.Context, host.Command) (host.CommandResult, error)) (host.CommandResult, error) {
	env, err := h.environment(slices.Concat(host.EnvOf(ctx), c.Env))
	if err != nil {
		return host.CommandResult{}, err
	}
	c.Env = env
	m := h.keys.Masker()
	if c.Watch != nil && m != nil {
		lines := &maskedLines{masker: m, watch: c.Watch}
		defer lines.flush()
		c.Watch = lines.write
	}
	res, err := run(ctx, c)
	m = h.keys.Masker() // the program may have been given a new one
	res.Stdout, res.Stderr = m.Bytes(res.Stdout), m.Bytes(res.Stderr)
	return res, err
}

func (h *Host) environment(env []string) ([]string, error) {
	out := env
	for i, e := range env {
		name, value, _ := strings.Cut(e, "=")
		ref, ok := secret.ParseRef(value)
		if !ok {
			continue
		}
		content, err := h.Reveal(ref)
		if err != nil {
			return nil, fmt.Errorf("cannot give the command %s: %w", name, err)
		}
		if i < len(env) && &out[0] == &env[0] {
			out = append([]string{}, env...)
		}
		out[i] = name + "=" + string(content)
	}
	return out, nil
}

// Units implements host.Host. It removes secrets from the output of failed units.
func (h *Host) Units() (host.Units, error) {
	u, err := h.Host.Units()
	if err != nil {
		return u, err
	}
	if l, ok := u.(lasting); ok {
		return lastingUnits{units{u, h.keys}, l}, nil
	}
	return units{u, h.keys}, nil
}

// lasting are units that can report whether a started unit keeps running.
type lasting interface {
	Lasts(ctx context.Context, name string) error
}

// lastingUnits has the abilities of the wrapped units.
type lastingUnits struct {
	units
	lasting lasting
}

func (u lastingUnits) Lasts(ctx context.Context, name string) error {
	return masked(u.lasting.Lasts(ctx, name), u.keys)
}

type units struct {
	host.Units
	keys Keys
}

func (u units) Job(ctx context.Context, verb, name string) error {
	return masked(u.Units.Job(ctx, verb, name), u.keys)
}

// masked keeps an error as it is where there is nothing to hide.
func masked(err error, keys Keys) error {
	if err == nil {
		return nil
	}
	if text := keys.Masker().Text(err.Error()); text != err.Error() {
		return &maskedError{text, err}
	}
	return err
}

// maskedError hides the secrets in the text of an error.
type maskedError struct {
	text string
	err  error
}

func (e *maskedError) Error() string        { return e.text }
func (e *maskedError) Is(target error) bool { return errors.Is(e.err, target) }

// LstatEach implements host.Bulk.
func (h *Host) LstatEach(dir string, names []string, each func(i int, st host.Stat, err error) bool) {
	host.LstatEach(h.Host, dir, names, each)
}

// Find implements host.Finder if the host does; otherwise every program counts as existing.
func (h *Host) Find(name, dir string) error {
	if f, ok := h.Host.(host.Finder); ok {
		return f.Find(name, dir)
	}
	return nil
}

// Reap implements host.Reaper where the host does; elsewhere nothing was left.
func (h *Host) Reap(ctx context.Context, lost func(mark string) (bool, time.Duration)) (int, error) {
	if r, ok := h.Host.(host.Reaper); ok {
		return r.Reap(ctx, lost)
	}
	return 0, nil
}
