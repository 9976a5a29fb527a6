package ssh

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"fettle.dev/fettle/internal/executor/wire"
)

// Address is how a target is reached. The zero value of a field leaves it to
// ssh_config.
type Address struct {
	Host string // a host name, an address, or an alias of ssh_config
	User string
	Port int
	// Sudo has the program run as root, by sudo.
	Sudo bool
	// Options are more of ssh_config, such as ProxyJump.
	Options map[string]string
}

// String formats the address as a user writes it.
func (a Address) String() string {
	s := a.Host
	if a.User != "" {
		s = a.User + "@" + s
	}
	if a.Port != 0 {
		s += ":" + strconv.Itoa(a.Port)
	}
	return s
}

// Options say how to connect.
type Options struct {
	// Programs finds this program for the processors of targets.
	Programs *Programs
	// Root and State are where the machine and the state directory are on the
	// target; "" for / and its own.
	Root, State string
	// AcceptNew trusts the key of a host that is not known, and remembers it. A key
	// that changed is refused all the same.
	AcceptNew bool
	// SudoPassword returns the password if sudo prompts for one; nil or "": there is
	// none.
	SudoPassword func() (string, error)
	// Control is a directory of the user's own, for the sockets of connections that are
	// kept for the next contact; "" keeps none.
	Control string
	// Keep is how long one is kept, 60 s where it is 0.
	Keep time.Duration
	// Login runs an ssh command line on the terminal, where ssh can prompt for a
	// passphrase. nil: there is no terminal. It requires Control.
	Login func(ctx context.Context, argv []string) error
	// Connect is how long the connection may take, Start how long the program there;
	// 0 for 10 s and 60 s.
	Connect, Start time.Duration
	// Upload is how long the program may take to come to the target, 0 for 10 min.
	Upload time.Duration
	// Jitter gives a pause up to the longest one; nil: a random one.
	Jitter func(most time.Duration) time.Duration
	// Binary is the ssh to run, "" for the one on the path.
	Binary string
	// Env is the environment of ssh, which is this process's own. It is required to reuse
	// kept connections without starting ssh. nil: ssh is started each time.
	Env  []string
	Wire wire.Options
}

func (o Options) defaults() Options {
	if o.Connect == 0 {
		o.Connect = 10 * time.Second
	}
	if o.Start == 0 {
		o.Start = time.Minute
	}
	if o.Upload == 0 {
		o.Upload = 10 * time.Minute
	}
	if o.Keep == 0 {
		o.Keep = time.Minute
	}
	if o.Jitter == nil {
		o.Jitter = jitter
	}
	if o.Binary == "" {
		o.Binary = "ssh"
	}
	if o.Wire.Silence == 0 {
		o.Wire.Silence = 15 * time.Second
	}
	return o
}

// argv is the ssh command line for one remote command. With asks, ssh may prompt. k is
// the kept connection to use or to create. ssh uses the first value of an option, so the
// options that this package requires precede the options of the address.
func (o Options) argv(a Address, command string, asks bool, k kept) []string {
	argv := []string{o.Binary, "-T", "-a", "-x"}
	option := func(k, v string) { argv = append(argv, "-o", k+"="+v) }
	option("BatchMode", yesNo(!asks))
	option("StrictHostKeyChecking", map[bool]string{true: "accept-new", false: "yes"}[o.AcceptNew])
	option("LogLevel", "ERROR")
	option("ClearAllForwardings", "yes")
	option("PermitLocalCommand", "no")
	option("RemoteCommand", "none")
	option("EscapeChar", "none")
	if k.path == "" {
		option("ControlPath", "none")
	} else {
		option("ControlMaster", "auto")
		option("ControlPath", k.path)
		option("ControlPersist", strconv.Itoa(int(o.Keep/time.Second)))
	}
	for _, k := range slices.Sorted(maps.Keys(a.Options)) {
		option(k, a.Options[k])
	}
	// Those an address may set as well.
	option("ConnectTimeout", strconv.Itoa(max(1, int(o.Connect/time.Second))))
	option("ServerAliveInterval", "10")
	option("ServerAliveCountMax", "4")
	if a.User != "" {
		argv = append(argv, "-l", a.User)
	}
	if a.Port != 0 {
		argv = append(argv, "-p", strconv.Itoa(a.Port))
	}
	return append(argv, "--", a.Host, command)
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// serveArgs start the program there as the far end of the protocol.
func (o Options) serveArgs() []string {
	args := []string{ServeCommand}
	if o.Root != "" {
		args = append(args, "--root", o.Root)
	}
	if o.State != "" {
		args = append(args, "--state", o.State)
	}
	return args
}

// ServeCommand is the hidden command of this program that serves the machine it runs
// on to its standard streams.
const ServeCommand = "serve-stdio"

// check refuses an address that ssh would interpret differently, such as an option.
func (a Address) check() error {
	if a.Host == "" || a.Host[0] == '-' {
		return fmt.Errorf("cannot connect to %q: this is not the name or address of a host", a.Host)
	}
	return nil
}
