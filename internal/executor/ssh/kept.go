package ssh

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"fettle.dev/fettle/internal/executor/ssh/mux"
	"fettle.dev/fettle/internal/host/local"
)

// kept is where the connection to a target is kept.
type kept struct {
	path string // as ControlPath; "" keeps none
	// ours tells that the name of the socket says all that decides what is behind it, so
	// that ssh need not be asked.
	ours bool
}

// keep returns the socket of the kept connection to a target. Its name is a digest of all
// inputs of the connection. If these inputs are unknown, only ssh can determine the name:
// its %C, made from the host, port, user and jump hosts.
func (o Options) keep(a Address) kept {
	if o.Control == "" {
		return kept{}
	}
	name, err := o.nameOf(a)
	if err != nil {
		return kept{path: filepath.Join(o.Control, "%C")}
	}
	return kept{path: filepath.Join(o.Control, name), ours: !strings.ContainsAny(o.Control, "%$~ \t\"'\\")}
}

// nameLen is how long ssh's own names are, so that both fit where one does.
const nameLen = 40

// nameOf is a digest of the inputs that decide how ssh reaches a target. These are the
// options, the configuration of ssh, and this machine, because several machines may share
// the directory.
func (o Options) nameOf(a Address) (string, error) {
	if o.Env == nil {
		return "", errors.New("the environment of ssh is not known")
	}
	if err := o.plainSSH(); err != nil {
		return "", err
	}
	account, err := user.LookupId(strconv.Itoa(os.Getuid())) // ssh does not go by HOME
	if err != nil {
		return "", err
	}
	machine, err := os.Hostname()
	if err != nil {
		return "", err
	}
	argv := o.argv(a, "", false, kept{path: "ours"})
	for k, v := range a.Options {
		if !steady(k, v) {
			return "", fmt.Errorf("%w: %s", errUnsteady, k)
		}
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "1 %q %q\n", machine, argv)
	c := config{sum: sum, env: environment(o.Env), home: account.HomeDir, most: maxConfig}
	if err := errors.Join(c.variables(strings.Join(argv, " ")), c.files("/etc/ssh", "/usr/etc/ssh")); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil))[:nameLen], nil
}

// plainSSH tells whether the ssh to run is the system's own, of which it is known what it
// reads.
func (o Options) plainSSH() error {
	path, err := local.FindProgram(o.Binary)
	if err == nil && !slices.Contains([]string{"/usr/bin/ssh", "/bin/ssh"}, path) {
		err = fmt.Errorf("%s is not the ssh of the system, so its configuration is unknown", path)
	}
	return err
}

// environment is it by name. The last value counts.
func environment(env []string) map[string]string {
	out := make(map[string]string, len(env))
	for _, e := range env {
		k, v, _ := strings.Cut(e, "=")
		out[k] = v
	}
	return out
}

// errNoAnswer is a connection that is kept, and is dead without knowing it.
var errNoAnswer = errors.New("the shared connection does not answer")

// session asks for a session in the connection that is kept, as long as a connection may
// take. An error leaves everything to ssh.
func (o Options) session(ctx context.Context, k kept, command string) (*mux.Session, error) {
	if !k.ours {
		return nil, errUnsteady
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.Connect, errNoAnswer)
	defer cancel()
	conn, err := local.DialOwn(ctx, k.path)
	if err != nil {
		return nil, err
	}
	return mux.Open(ctx, conn, mux.Request{Command: command, Env: o.Env})
}
