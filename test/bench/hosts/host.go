package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// host is one machine that is reached over SSH.
type host struct {
	name, address string
	pid           int // of its first process, as the benchmark sees it
}

// addressOf is that of the host with a number, counted from 1.
func addressOf(net, i int) string { return fmt.Sprintf("127.%d.%d.%d", net, i/250, 1+i%250) }

// path is where one of its files is for the benchmark.
func (h *host) path(file string) string { return fmt.Sprintf("/proc/%d/root%s", h.pid, file) }

// startHost starts a host in a directory that has its key. The process ends with the
// benchmark.
func startHost(self, dir, name, address string, group int) (*host, error) {
	cmd := exec.Command(self, "host", dir, name, address)
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWUTS,
		UseCgroupFD: true, CgroupFD: group,
		Setpgid: true,
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start the host %s: %w", name, err)
	}
	go func() { _ = cmd.Wait() }() // it runs until the benchmark ends
	return &host{name: name, address: address, pid: cmd.Process.Pid}, nil
}

// hostMain is the first process of a host: it makes the host's root and becomes its
// sshd.
func hostMain(args []string) error {
	dir, name, address := args[0], args[1], args[2]
	if err := syscall.Sethostname([]byte(name)); err != nil {
		return err
	}
	key, err := os.ReadFile(filepath.Join(dir, "key"))
	if err != nil {
		return err
	}
	client, err := os.ReadFile(filepath.Join(filepath.Dir(dir), "client.pub"))
	if err != nil {
		return err
	}
	if err := enterRoot(dir); err != nil {
		return err
	}
	for file, text := range map[string][]byte{"sshd_config": sshdConfig(address), "hostkey": key,
		"authorized_keys": client} {
		if err := os.WriteFile("/run/bench/"+file, text, 0o600); err != nil {
			return err
		}
	}
	return syscall.Exec("/usr/sbin/sshd", []string{"/usr/sbin/sshd", "-D", "-e", "-f", "/run/bench/sshd_config"},
		[]string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"})
}

func sshdConfig(address string) []byte {
	lines := []string{
		"ListenAddress " + address, "Port 22", "HostKey /run/bench/hostkey", "AuthorizedKeysFile /run/bench/authorized_keys",
		"PermitRootLogin prohibit-password", "PasswordAuthentication no", "KbdInteractiveAuthentication no", "UsePAM no",
		"PidFile none", "UseDNS no", "MaxStartups 100", "Subsystem sftp internal-sftp", "LogLevel ERROR", "",
	}
	return []byte(strings.Join(lines, "\n"))
}

// enterRoot makes this machine's files below a layer in memory the root of this
// process, with directories of its own where accounts and programs leave things.
func enterRoot(dir string) error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("cannot have mounts of its own: %w", err)
	}
	layer, root := filepath.Join(dir, "layer"), filepath.Join(dir, "layer", "root")
	if err := syscall.Mount("layer", layer, "tmpfs", 0, "mode=755"); err != nil {
		return err
	}
	for _, sub := range []string{"root", "upper", "work"} {
		if err := os.Mkdir(filepath.Join(layer, sub), 0o755); err != nil {
			return err
		}
	}
	data := fmt.Sprintf("lowerdir=/,upperdir=%s/upper,workdir=%s/work", layer, layer)
	if err := syscall.Mount("overlay", root, "overlay", 0, data); err != nil {
		return fmt.Errorf("cannot mount an overlay of /: %w", err)
	}
	if err := mountInto(root); err != nil {
		return err
	}
	return pivot(root)
}

// mountInto mounts what a running system has.
func mountInto(root string) error {
	for _, m := range []struct{ kind, at, data string }{
		{"proc", "proc", ""}, {"tmpfs", "run", "mode=755"}, {"tmpfs", "tmp", "mode=1777"}, {"tmpfs", "root", "mode=700"},
		{"tmpfs", "srv", "mode=755"},
	} {
		if err := syscall.Mount(m.kind, filepath.Join(root, m.at), m.kind, 0, m.data); err != nil {
			return fmt.Errorf("cannot mount /%s of a host: %w", m.at, err)
		}
	}
	for _, at := range []string{"dev", "sys"} {
		if err := syscall.Mount("/"+at, filepath.Join(root, at), "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
			return fmt.Errorf("cannot mount /%s of a host: %w", at, err)
		}
	}
	for _, sub := range []string{"sshd", "bench"} {
		if err := os.Mkdir(filepath.Join(root, "run", sub), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// pivot makes root the root, and leaves the old one.
func pivot(root string) error {
	if err := os.Chdir(root); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("cannot change the root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return err
	}
	return os.Chdir("/")
}
