package ssh

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The command line is for whatever shell people log in with: csh takes neither line
// breaks nor exclamation marks between quotes.
func TestCommandLine(t *testing.T) {
	line := Address{}.commandLine(whole(), []string{"-", "-", "plain", "it's", "a\\b"})
	if strings.ContainsAny(line, "\n!") {
		t.Errorf("csh does not take %q", line)
	}
	for _, shell := range []string{"sh", "bash", "dash", "zsh", "fish", "csh", "tcsh"} {
		if _, err := exec.LookPath(shell); err != nil {
			continue
		}
		out, _ := exec.Command(shell, "-c", line).Output()
		if want := "fettle-boot unfit Linux "; !strings.HasPrefix(strings.TrimSpace(string(out)), want) {
			t.Errorf("%s prints %q, want %q", shell, out, want)
		}
	}
}

// inside is the whole script, whose other places are below home.
func inside(home string) string {
	return wholeWith(strings.NewReplacer("/var/", home+"/var/", "/run/user", home+"/run/user").Replace(bootScript))
}

// boot runs the script in a home of its own, which has the other places as well.
func boot(t *testing.T, home, input string, words ...string) string {
	t.Helper()
	cmd := exec.Command("sh", append([]string{"-c", inside(home), "fettle"}, words...)...)
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CACHE_HOME=")
	cmd.Stdin = strings.NewReader(input)
	out, _ := cmd.Output()
	return strings.TrimSpace(string(out))
}

func words(digest string) []string {
	if runtime.GOARCH == "arm64" {
		return []string{"-", digest, "plain", "version"}
	}
	return []string{digest, "-", "plain", "version"}
}

// What comes half, or is something else, is not run and not kept.
func TestBootRefuses(t *testing.T) {
	digest := strings.Repeat("0", 64)
	for name, c := range map[string]struct{ input, says string }{
		"nothing":        {"", "full "},
		"half":           {"1000\nabc", "full "},
		"something else": {"20\n" + gzipOfNothing, "damaged "},
	} {
		home := t.TempDir()
		said := boot(t, home, c.input, words(digest)...)
		lines := strings.Split(strings.ReplaceAll(said, "\n\n", "\n"), "\n")
		if len(lines) != 2 || !strings.HasPrefix(lines[0], "fettle-boot lack ") ||
			!strings.HasPrefix(lines[1], "fettle-boot "+c.says) {
			t.Errorf("%s: it says %q", name, said)
		}
		if left, _ := filepath.Glob(filepath.Join(home, ".cache/fettle/*")); len(left) > 0 {
			t.Errorf("%s: it leaves %v", name, left)
		}
	}
}

const gzipOfNothing = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00"

// Programs of before go but for the last three, and halves that broke off long ago.
func TestBootCleans(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, ".cache/fettle")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, age := range map[string]time.Duration{"fettle-x.1": 2 * time.Hour, "fettle-x.2": time.Minute,
		"mine.3": 2 * time.Hour} {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(p, time.Time{}, time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	boot(t, home, "", words(strings.Repeat("0", 64))...)
	left, _ := filepath.Glob(filepath.Join(dir, "*"))
	if got := strings.Join(left, " "); got != dir+"/fettle-x.2 "+dir+"/mine.3" {
		t.Errorf("it leaves %s", got)
	}
	if said := boot(t, home, "", "-", "-", "forget"); said != "fettle-boot forgotten" {
		t.Errorf("it says %q", said)
	}
	left, _ = filepath.Glob(filepath.Join(dir, "*"))
	if got := strings.Join(left, " "); got != dir+"/mine.3" {
		t.Errorf("forgetting leaves %s", got)
	}
}

// brought is a program, as it comes, and the words that ask for it.
func brought(t *testing.T, program string) (input string, ask []string) {
	t.Helper()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write([]byte(program))
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d\n%s", packed.Len(), packed.Bytes()), words(fmt.Sprintf("%x", sha256.Sum256([]byte(program))))
}

// A program that has just come works with the account's own umask, like one that was
// there: what its commands make has the same modes.
func TestBootMask(t *testing.T) {
	home := t.TempDir()
	input, ask := brought(t, "#!/bin/sh\numask\n")
	came := boot(t, home, input, ask...)
	there := boot(t, home, "", ask...)
	if !strings.HasSuffix(came, "\n"+there) || there == "" {
		t.Errorf("the first time it says %q, the second %q", came, there)
	}
}

// Where the cache cannot be made the program goes to the next directory, but never into
// one into which somebody else may have put something, and forgetting finds it there.
func TestBootElsewhere(t *testing.T) {
	uid := strconv.Itoa(os.Getuid())
	places := []string{"var/cache/fettle", "var/tmp/fettle-" + uid, "run/user/" + uid + "/fettle"}
	input, ask := brought(t, "#!/bin/sh\necho \"$0\"\n")
	for bad, spoil := range map[string]func(string) error{
		"a link":         func(p string) error { return os.Symlink(t.TempDir(), p) },
		"open to others": func(p string) error { return errors.Join(os.Mkdir(p, 0o700), os.Chmod(p, 0o770)) },
		"no directory":   func(p string) error { return os.WriteFile(p, nil, 0o600) },
	} {
		for i := range len(places) + 1 {
			home := t.TempDir()
			mustDo(t, os.WriteFile(filepath.Join(home, ".cache"), nil, 0o600))
			for j, p := range places {
				p = filepath.Join(home, p)
				mustDo(t, os.MkdirAll(filepath.Dir(p), 0o755))
				if j < i {
					mustDo(t, spoil(p))
				}
			}
			said := boot(t, home, input, ask...)
			if i == len(places) {
				want := "fettle-boot nowhere " + home + "/.cache/fettle cannot be written to; " + home + "/" +
					strings.Join(places, " cannot be written to; "+home+"/") + " cannot be written to"
				if said != want {
					t.Errorf("%s everywhere: it says\n%s, want\n%s", bad, said, want)
				}
				continue
			}
			program := filepath.Join(home, places[i], "fettle-"+max(ask[0], ask[1]))
			if !strings.HasSuffix(said, "\n"+program) || boot(t, home, "", ask...) != program {
				t.Errorf("%s %d times: it says %q, want the program %s", bad, i, said, program)
			}
			boot(t, home, "", "-", "-", "forget")
			if _, err := os.Lstat(filepath.Dir(program)); err == nil {
				t.Errorf("%s %d times: the program is not forgotten", bad, i)
			}
		}
	}
}

func mustDo(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
