package ssh

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"
)

const (
	genuine = "#!/bin/sh\necho fettle-boot genuine \"$0\" \"$@\"\n"
	hostile = "#!/bin/sh\necho fettle-boot hostile\n"
	other   = 65534 // another user of the host
)

// home is one whose cache holds the genuine program.
func home(t *testing.T) (dir, program, input string, ask []string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	mustDo(t, errors.Join(err, os.Chmod(dir, 0o755)))
	for _, p := range []string{"var/cache", "var/tmp", "run/user"} {
		mustDo(t, os.MkdirAll(filepath.Join(dir, p), 0o755))
	}
	input, ask = brought(t, genuine)
	boot(t, dir, input, ask...)
	program = filepath.Join(dir, ".cache/fettle", "fettle-"+max(ask[0], ask[1]))
	if said := boot(t, dir, "", ask...); said != "fettle-boot genuine "+program+" version" {
		t.Fatalf("it says %q", said)
	}
	return dir, program, input, ask
}

// spoilt are ways in which another user could replace the program.
func spoilt(home, program string) map[string]func() error {
	dir := filepath.Dir(program)
	write := func(name, text string) error {
		return errors.Join(os.Remove(name), os.WriteFile(name, []byte(text), 0o700))
	}
	ways := map[string]func() error{
		"the program has another digest": func() error { return write(program, hostile) },
		"the program is a link": func() error {
			return errors.Join(os.Rename(program, home+"/away"),
				os.Symlink(home+"/away", program))
		},
		"the group may write the program":   func() error { return os.Chmod(program, 0o720) },
		"anybody may write the program":     func() error { return os.Chmod(program, 0o702) },
		"the group may write its directory": func() error { return os.Chmod(dir, 0o770) },
		"anybody may write above it":        func() error { return os.Chmod(home+"/.cache", 0o707) },
		"anybody may write the home":        func() error { return os.Chmod(home, 0o757) },
		"the cache is a link into a directory of everybody": func() error {
			return errors.Join(os.Mkdir(home+"/open", 0o755), os.Chmod(home+"/open", 0o777),
				os.Rename(home+"/.cache", home+"/open/cache"), os.Symlink(home+"/open/cache", home+"/.cache"))
		},
	}
	if os.Getuid() == 0 { // who else may give files away
		ways["another user has the program"] = func() error { return os.Chown(program, other, other) }
		ways["another user has its directory"] = func() error { return os.Chown(dir, other, other) }
		ways["another user has the directory above"] = func() error { return os.Chown(home+"/.cache", other, other) }
		ways["another user has the directory, with the sticky bit"] = func() error {
			return errors.Join(os.Chown(home+"/.cache", other, other), os.Chmod(home+"/.cache", 0o777|os.ModeSticky))
		}
		ways["another user has the home"] = func() error { return os.Chown(home, other, other) }
	}
	return ways
}

// TestVerified: a program that another user has replaced, or could replace between the check
// and the start, is never run. It comes anew, to where nobody else can change it.
func TestVerified(t *testing.T) {
	dir, program, _, _ := home(t)
	for name := range spoilt(dir, program) {
		t.Run(name, func(t *testing.T) {
			home, program, input, ask := home(t)
			mustDo(t, spoilt(home, program)[name]())
			said := boot(t, home, input, ask...)
			if strings.Contains(said, "hostile") {
				t.Fatalf("the program of another user runs: %q", said)
			}
			if !strings.Contains(said, "fettle-boot lack ") && !strings.Contains(said, "fettle-boot nowhere ") {
				t.Fatalf("what another user could replace is run: %q", said)
			}
			if strings.Contains(said, "lack ") && !strings.Contains(said, "fettle-boot genuine ") {
				t.Errorf("the program comes and does not run: %q", said)
			}
			if strings.Contains(name, " home") && !strings.Contains(said, "see the owner and the mode of "+home) {
				t.Errorf("it does not say what is wrong: %q", said)
			}
		})
	}
}

// TestVerifiedSafe: directories in which nobody else can replace anything are used.
func TestVerifiedSafe(t *testing.T) {
	home, program, _, ask := home(t)
	for name, do := range map[string]func() error{
		"a sticky directory above, as /tmp": func() error { return os.Chmod(home, 0o777|os.ModeSticky) },
		"others may read":                   func() error { return os.Chmod(filepath.Dir(program), 0o755) },
		"a link to a safe directory": func() error {
			return errors.Join(os.Rename(home+"/.cache", home+"/cache"), os.Symlink("cache", home+"/.cache"))
		},
	} {
		mustDo(t, do())
		if said := boot(t, home, "", ask...); !strings.HasPrefix(said, "fettle-boot genuine ") {
			t.Errorf("%s: it says %q", name, said)
		}
	}
}

// contactOf has the script bring and run a program over OpenSSH, and tells what the program
// says and how much was sent.
func (d *desk) contactOf(a Address, o Options, home string) (says string, sent int64) {
	d.Helper()
	p, err := o.start(d.Context(), a, func() string { return inside(home) }, o.bootArgs())
	mustDo(d.T, err)
	s := &Session{proc: p}
	err = p.within(d.Context(), 5*time.Minute, func(ctx context.Context) error { return s.boot(ctx, a, o) })
	p.Kill()
	if err == nil {
		d.Fatal("a script speaks the protocol")
	}
	return err.Error(), s.Uploaded
}

// served is a server whose account has a cache in home, and options for the program there.
func served(t *testing.T, home string, more ...string) *desk {
	t.Helper()
	d := newDesk(t, append(more, "SetEnv=XDG_CACHE_HOME="+home+"/.cache")...)
	self := filepath.Join(home, "self")
	mustDo(t, os.WriteFile(self, []byte(genuine), 0o600))
	d.o.Programs = NewPrograms(self, fstest.MapFS{})
	return d
}

// TestVerifiedOverSSH: a user who replaces the program again and again never has another
// one run, whether that user can write to the directory or has replaced it before.
func TestVerifiedOverSSH(t *testing.T) {
	home, program, _, _ := home(t)
	d := served(t, home)
	says, sent := d.contactOf(d.a, d.o, home)
	if !strings.HasPrefix(says, "genuine "+program+" serve-stdio --from 127.0.0.1") || sent != 0 {
		t.Fatalf("it says %q after %d bytes", says, sent)
	}
	mustDo(t, errors.Join(os.Remove(program), os.WriteFile(program, []byte(hostile), 0o700)))
	if says, sent = d.contactOf(d.a, d.o, home); !strings.HasPrefix(says, "genuine "+program) || sent == 0 {
		t.Errorf("of a replaced program it says %q after %d bytes", says, sent)
	}
	evil := filepath.Join(home, "evil")
	mustDo(t, errors.Join(os.WriteFile(evil, []byte(hostile), 0o755), os.Chmod(filepath.Dir(program), 0o777)))
	race := exec.Command("sh", "-c",
		`while :; do cp "$1" "$2.e" && mv "$2.e" "$2"; cp "$3" "$2.e" && mv "$2.e" "$2"; done 2>/dev/null`, "race", evil,
		program, d.genuineCopy(home))
	if os.Getuid() == 0 {
		race.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: other, Gid: other}}
	}
	mustDo(t, race.Start())
	defer func() { _ = race.Process.Kill(); _ = race.Wait() }()
	for range 20 {
		if says, _ = d.contactOf(d.a, d.o, home); !strings.HasPrefix(says, "genuine "+home+"/var/cache/fettle/") {
			t.Fatalf("beside a user who may replace the program it says %q", says)
		}
	}
}

func (d *desk) genuineCopy(home string) string {
	name := filepath.Join(home, "genuine")
	mustDo(d.T, os.WriteFile(name, []byte(genuine), 0o755))
	return name
}

// TestSudoIsRoots: under sudo root's shell checks and runs what is root's, so that the
// account itself cannot replace it either. The log of sudo gets the short script only.
func TestSudoIsRoots(t *testing.T) {
	home, _, _, _ := home(t)
	bin, log := filepath.Join(home, "bin"), filepath.Join(home, "log")
	mustDo(t, os.Mkdir(bin, 0o755))
	// As sudo does it: another home, and nothing of the account's environment.
	fake := fmt.Sprintf("#!/bin/sh\nprintf '%%s\\n' \"$*\" >>%s\nwhile [ \"$1\" != -- ]; do shift; done\nshift\nexec env -i HOME=%s PATH=\"$PATH\" \"$@\"\n", log, home+"/root")
	mustDo(t, errors.Join(os.WriteFile(bin+"/sudo", []byte(fake), 0o755), os.Mkdir(home+"/root", 0o700)))
	d := served(t, home, "SetEnv=XDG_CACHE_HOME="+home+"/.cache PATH="+bin+":/usr/bin:/bin")
	a := d.a
	a.Sudo = true
	_, err := openBy(t.Context(), a, d.o, short)
	var said *bootError
	if !errors.As(err, &said) || said.said != absent {
		t.Fatalf("without a program of root's the short script ends with %v", err)
	}
	want := "genuine " + home + "/root/.cache/fettle/fettle-"
	for i := range 2 {
		says, sent := d.contactOf(a, d.o, home)
		if !strings.HasPrefix(says, want) || !strings.HasSuffix(says, " serve-stdio --from 127.0.0.1") ||
			(sent > 0) != (i == 0) {
			t.Errorf("contact %d says %q after %d bytes", i, says, sent)
		}
	}
	_, err = openBy(t.Context(), a, d.o, short)
	if !errors.As(err, &said) || !strings.HasPrefix(said.said, want) {
		t.Errorf("the short script ends with %v", err)
	}
	if n := len(short()); n > 1200 || n > len(whole())/2 {
		t.Errorf("the short script has %d bytes", n)
	}
	mustDo(t, forgetBy(t.Context(), a, d.o, func() string { return inside(home) }))
	for _, p := range []string{"/root/.cache/fettle", "/.cache/fettle"} {
		if _, err := os.Stat(home + p); err == nil {
			t.Errorf("%s is not forgotten", p)
		}
	}
}
