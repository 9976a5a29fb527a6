package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// ground makes what all hosts have in common: a network of loopback alone, the
// processes of these namespaces in /proc, and a configuration of ssh for all tools
// in the place of this machine's own.
func ground(base string) error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("cannot have mounts of its own: %w", err)
	}
	if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("cannot mount /proc: %w", err)
	}
	if err := loopback(); err != nil {
		return fmt.Errorf("cannot use a network of its own: %w", err)
	}
	if err := makeKey(filepath.Join(base, "client")); err != nil {
		return err
	}
	return configureSSH(base)
}

func loopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
}

func configureSSH(base string) error {
	conf := fmt.Sprintf(`Host *
  User root
  IdentityFile %[1]s/client
  IdentitiesOnly yes
  PreferredAuthentications publickey
  UserKnownHostsFile %[1]s/known_hosts
  StrictHostKeyChecking yes
`, base)
	file := filepath.Join(base, "ssh_config")
	if err := os.WriteFile(file, []byte(conf), 0o644); err != nil {
		return err
	}
	if err := syscall.Mount(file, "/etc/ssh/ssh_config", "", syscall.MS_BIND, ""); err != nil {
		return fmt.Errorf("cannot give ssh a configuration: %w", err)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(home, ".ssh")); err != nil {
		return nil // nothing there counts
	}
	return syscall.Mount("ssh", filepath.Join(home, ".ssh"), "tmpfs", 0, "mode=700")
}

func makeKey(file string) error {
	out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "bench", "-f", file).CombinedOutput()
	if err != nil {
		return fmt.Errorf("cannot make a key: %w\n%s", err, out)
	}
	return nil
}

// makeHosts starts hosts and waits until all answer. Their keys are added to the
// known ones, under their own addresses and those of the relay.
func makeHosts(base string, n int, g group) ([]*host, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	at, err := g.open()
	if err != nil {
		return nil, err
	}
	defer at.Close()
	dir := func(i int) string { return filepath.Join(base, fmt.Sprintf("h%04d", i)) }
	var keys errgroup.Group
	keys.SetLimit(4)
	for i := range n {
		keys.Go(func() error {
			if err := os.MkdirAll(filepath.Join(dir(i), "layer"), 0o755); err != nil {
				return err
			}
			return makeKey(filepath.Join(dir(i), "key"))
		})
	}
	if err := keys.Wait(); err != nil {
		return nil, err
	}
	var known strings.Builder
	var hosts []*host
	for i := range n {
		public, err := os.ReadFile(filepath.Join(dir(i), "key.pub"))
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&known, "%s,%s %s", addressOf(1, i), addressOf(2, i), public)
		h, err := startHost(self, dir(i), fmt.Sprintf("h%04d", i), addressOf(1, i), int(at.Fd()))
		if err != nil {
			return nil, err
		}
		hosts = append(hosts, h)
	}
	if err := os.WriteFile(filepath.Join(base, "known_hosts"), []byte(known.String()), 0o644); err != nil {
		return nil, err
	}
	return hosts, awaitHosts(dir, hosts)
}

func awaitHosts(dir func(int) string, hosts []*host) error {
	for i, h := range hosts {
		if err := await(h.name+" to answer", func() bool { return answers(h.address) }); err != nil {
			log, _ := os.ReadFile(filepath.Join(dir(i), "log"))
			return fmt.Errorf("%w; its sshd says: %s", err, log)
		}
	}
	return nil
}
