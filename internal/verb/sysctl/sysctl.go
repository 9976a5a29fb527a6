// Package sysctl is SYSCTL: the value of a kernel setting at run time.
//
//	SYSCTL net.ipv4.ip_forward value=1
package sysctl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
	"fettle.dev/fettle/internal/verb/exec"
)

// Sysctl is SYSCTL.
type Sysctl struct{}

// file returns the kernel's path of a setting, see sysctl(8). Dots are separators, and a slash in
// the key represents a dot in a name.
func file(key string) string {
	swap := strings.NewReplacer(".", "/", "/", ".")
	return "/proc/sys/" + swap.Replace(key)
}

// Observe implements verb.Verb.
func (Sysctl) Observe(_ context.Context, e verb.Env, s step.Step) (image.Image, error) {
	f, err := e.Host.Open(file(s.Args[0]))
	if errors.Is(err, fs.ErrNotExist) {
		return image.Of(&image.Sysctl{}), nil
	}
	if err != nil {
		return image.Image{}, fmt.Errorf("cannot read kernel setting %s: %w", s.Args[0], err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 64<<10))
	if err != nil {
		return image.Image{}, fmt.Errorf("cannot read kernel setting %s: %w", s.Args[0], err)
	}
	return image.Of(&image.Sysctl{Present: true, Value: fields(string(b))}), nil
}

// fields makes the blanks between the parts of a value the same.
func fields(v string) string { return strings.Join(strings.Fields(v), " ") }

// Target implements verb.Verb.
func (Sysctl) Target(s step.Step, now image.Image, _ verb.Names) (image.Image, error) {
	if now.Sysctl() == nil || !now.Sysctl().Present {
		return image.Image{},
			verb.NotYetf(s.Addr(),
				"cannot set %s: this kernel has no such setting; check the name, or first load the module that provides it",
				s.Args[0])
	}
	return image.Of(&image.Sysctl{Present: true, Value: fields(s.Get("value"))}), nil
}

// Move implements verb.Mover.
func (Sysctl) Move(ctx context.Context, e verb.Env, s step.Step, _, to image.Image) error {
	if !to.Sysctl().Present {
		return nil // a module added it; there is nothing to restore
	}
	f, err := e.Host.OpenWrite(file(s.Args[0]))
	if host.IsReadOnly(err) && s.Args[0] == hostname {
		return setHostname(ctx, e.Host, to.Sysctl().Value)
	}
	if err != nil {
		return fmt.Errorf("cannot set %s: %w", s.Args[0], err)
	}
	defer f.Close()
	if _, err := f.Write([]byte(to.Sysctl().Value + "\n")); err != nil {
		return fmt.Errorf("cannot set %s to %q: %w", s.Args[0], to.Sysctl().Value, err)
	}
	return nil
}

const hostname = "kernel.hostname"

// setHostname sets the name by the system call: container managers such as LXC and systemd-nspawn
// mount /proc/sys read-only and let a container set its own name.
func setHostname(ctx context.Context, h host.Host, name string) error {
	if err := exec.Run(ctx, h, host.Command{Argv: []string{"hostname", name}, Mutates: true}); err != nil {
		return fmt.Errorf("cannot set %s to %q: /proc/sys is read-only here, and %w; a container that is not allowed to set its name needs hostname { running = false }", hostname, name, err)
	}
	return nil
}
