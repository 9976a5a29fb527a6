package isolated

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// startLoopback adds a loopback interface to the new network. Without it, looking up localhost
// would count as use of the network.
func startLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("a socket cannot be created: %w", err)
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo); err != nil {
		return fmt.Errorf("the loopback cannot be started: %w", err)
	}
	return nil
}

// Packets returns the number of packets that programs sent, or could not send, in the network of
// the view since it was opened. Only differences count, and only in a view without the network of
// the host.
func (v *View) Packets() (n int64) {
	v.Do(func() {
		v4, _ := os.ReadFile("/proc/thread-self/net/snmp")
		v6, _ := os.ReadFile("/proc/thread-self/net/snmp6")
		n = counted4(string(v4)) + counted6(string(v6))
	})
	return n
}

// counted4 reads snmp: a line of names, and below it one of values, both begin with "Ip:".
func counted4(text string) (n int64) {
	var names []string
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 0 || f[0] != "Ip:" {
			continue
		}
		if names == nil {
			names = f
			continue
		}
		for i := range min(len(f), len(names)) {
			n += counter(names[i], f[i])
		}
	}
	return n
}

// counted6 reads snmp6: a name and a value a line.
func counted6(text string) (n int64) {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) == 2 && strings.HasPrefix(f[0], "Ip6") {
			n += counter(f[0][3:], f[1])
		}
	}
	return n
}

func counter(name, value string) int64 {
	if name != "OutRequests" && name != "OutNoRoutes" {
		return 0
	}
	v, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return 0
	}
	return v
}
