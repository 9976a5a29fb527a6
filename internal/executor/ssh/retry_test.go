package ssh_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"fettle.dev/fettle/internal/executor/ssh"
)

// TestTurnedAway plays an ssh that is turned away: it is begun again with pauses that
// grow, so often and no more; and an ssh that fails for any other reason is not.
func TestTurnedAway(t *testing.T) {
	for _, c := range []struct {
		says  string
		begun int
	}{
		{"kex_exchange_identification: Connection closed by remote host", 5},
		{"kex_exchange_identification: read: Connection reset by peer", 5},
		{"ssh: connect to host web1 port 22: Connection refused", 1},
		{"ann@web1: Permission denied (publickey).", 1},
	} {
		dir := t.TempDir()
		fake := filepath.Join(dir, "ssh")
		script := "#!/bin/sh\necho x >>" + dir + "/begun\necho '" + c.says + "' >&2\nexit 255\n"
		if err := os.WriteFile(fake, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		var pauses []time.Duration
		_, err := ssh.Open(context.Background(), ssh.Address{Host: "web1"},
			ssh.Options{Binary: fake, Programs: ssh.NewPrograms(fake, fstest.MapFS{}),
				Jitter: func(most time.Duration) time.Duration { pauses = append(pauses, most); return 1 }})
		var e *ssh.Error
		if !errors.As(err, &e) || e.Hint() == "" {
			t.Errorf("%s: %v", c.says, err)
		}
		if away := c.begun > 1; away != strings.Contains(e.Hint(), "PerSourcePenalties") ||
			away != strings.Contains(e.Error(), "before the SSH handshake") {
			t.Errorf("%s: %v\n%s", c.says, err, e.Hint())
		}
		begun, _ := os.ReadFile(filepath.Join(dir, "begun"))
		if n := strings.Count(string(begun), "x"); n != c.begun || len(pauses) != c.begun-1 {
			t.Errorf("%s: begun %d times, with pauses %v", c.says, n, pauses)
		}
		for i := range pauses {
			if i > 0 && pauses[i] != 2*pauses[i-1] {
				t.Errorf("the pauses do not grow: %v", pauses)
			}
		}
	}
}

// TestAnotherProcessor plays a home that machines of several processors share: what the
// login shell found there does not run, so that the script is asked.
func TestAnotherProcessor(t *testing.T) {
	dir := t.TempDir()
	fake := filepath.Join(dir, "ssh")
	script := `#!/bin/sh
for last; do :; done
case $last in
"exec sh -c "*) printf '\nfettle-boot unfit Linux mips\n'; exit 3 ;;
"test -x ~/.cache/fettle/fettle-"*) echo 'sh: 1: exec: /root/.cache/fettle/fettle-0: Exec format error' >&2; exit 126 ;;
esac
`
	if err := os.WriteFile(fake, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := ssh.Open(context.Background(), ssh.Address{Host: "web1"},
		ssh.Options{Binary: fake, Programs: ssh.NewPrograms(fake, fstest.MapFS{})})
	var e *ssh.Error
	if !errors.As(err, &e) || e.Class != ssh.Unfit {
		t.Errorf("the script was not asked: %v", err)
	}
}
