package hub

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fettle.dev/fettle/internal/fleet/owner"
	"fettle.dev/fettle/internal/ui/cli"
)

// hubUser is the system user that the Debian package creates, and that fettle-hub.service runs as.
const hubUser = "fettle-hub"

// makeHubUser creates hubUser on a host without the package.
const makeHubUser = "useradd --system --user-group --home-dir " + hubDir +
	" --no-create-home --shell /usr/sbin/nologin " + hubUser

// hubUserFlag is the user of a new hub; "" is the default.
type hubUserFlag string

func (f *hubUserFlag) flag(flags *pflag.FlagSet) {
	flags.StringVar((*string)(f), "user", "", "give the directory to `USER`, and run the hub as this user (default: "+
		hubUser+" if root creates "+hubDir+", otherwise you)")
}

// newHubAs continues as the user of a new hub, who must be able to read some files.
func newHubAs(s *cli.Printer, h *Hub, f hubUserFlag, dir string, files ...string) error {
	name := string(f)
	if name == "" && dir == hubDir && os.Geteuid() == 0 {
		name = hubUser
	}
	if name == "" {
		return nil
	}
	if h.NewAs == nil {
		return errors.New("cannot be a hub: this program was built without")
	}
	if err := h.NewAs(dir, name); err != nil {
		return hintOfHubUser(err, dir, name)
	}
	for _, file := range files {
		if err := canRead(file, name); err != nil {
			return err
		}
	}
	return nil
}

// canRead refuses a file that exists and that the user of this process is not allowed to read.
func canRead(file, name string) error {
	f, err := os.Open(file)
	if err == nil {
		return f.Close()
	}
	if file == "" || !errors.Is(err, fs.ErrPermission) {
		return nil
	}
	at := filepath.Join("/etc/fettle/hub", filepath.Base(file))
	return cli.Refuse(fmt.Sprintf(
		"Give it a copy, and name that:\n  install -d -m 755 /etc/fettle/hub\n  install -o %s -m 600 %s %s", name, file, at),
		fmt.Sprintf("cannot use %s: the user %s is not allowed to read it", file, name))
}

// runHubAs continues as the owner of the directory of a hub.
func runHubAs(s *cli.Printer, h *Hub, dir, socket string) error {
	if h.RunAs == nil {
		return nil
	}
	return hintOfHubUser(h.RunAs(dir, socket), dir, hubUser)
}

func hintOfHubUser(err error, dir, name string) error {
	switch {
	case errors.Is(err, owner.ErrNoUser) && name == hubUser:
		return cli.WithHint(err, "Create the user, and repeat the command:\n  "+makeHubUser)
	case errors.Is(err, owner.ErrNoUser):
		return cli.WithHint(err, "Create the user, and repeat the command")
	case errors.Is(err, owner.ErrRoot):
		return cli.WithHint(err, "Give the directory to a user: fettle hub chown --dir "+dir)
	}
	return err
}

// startHub is the command that starts a new hub.
func startHub(dir string) string {
	if dir == hubDir {
		return "systemctl enable --now fettle-hub, or fettle hub run"
	}
	return "fettle hub run --dir " + dir
}

func newHubChown(s *cli.Session, h *Hub) *cobra.Command {
	dir, name := hubDir, hubUser
	c := &cobra.Command{
		Use:   "chown",
		Short: "Give the directory of a hub to its user",
		Long: `Gives the directory of a hub, with all its files, to the user that the hub runs
as. Other users, except root, can then open none of these files. Run it as root
while the hub is stopped. The service fettle-hub runs it before each start.

It gives a directory once: if the directory already belongs to the user, nothing
is changed. If it was interrupted, the next call completes it. It refuses a
directory that contains links, mounts or files of other users, and gives nothing
then.`,
		Example: "  fettle hub chown\n  fettle hub chown --dir /srv/hub --user hub",
		Args:    cli.Args(0, 0),
		RunE:    func(*cobra.Command, []string) error { return hubChown(s.Printer, h, dir, name) },
	}
	c.Flags().StringVar(&dir, "dir", hubDir, "the directory of the hub: the `DIR` of fettle hub init")
	c.Flags().StringVar(&name, "user", hubUser, "give the directory to `USER`")
	return c
}

func hubChown(s *cli.Printer, h *Hub, dir, name string) error {
	if h == nil || h.Give == nil {
		return errors.New("cannot be a hub: this program was built without")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	n, err := h.Give(dir, name)
	if err != nil {
		return hintOfHubUser(err, dir, name)
	}
	if n == 0 {
		return s.Done("chown", 0, fmt.Sprintf("%s belongs to %s.", dir, name))
	}
	return s.Done("chown", 0, fmt.Sprintf("%s was given to %s, with all its files.", dir, name))
}
