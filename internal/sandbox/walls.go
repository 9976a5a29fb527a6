package sandbox

import (
	"fmt"
	"os"

	llsyscall "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// Walls describes in short sentences the limits of a child of this process on this host, including
// missing ones.
func Walls(l Limits) []string {
	return []string{
		fmt.Sprintf("memory %d MiB, processor time %d s", l.memory()>>20, l.seconds()),
		landlockText(),
		networkText(),
		userText(),
	}
}

func landlockText() string {
	abi, err := llsyscall.LandlockGetABIVersion()
	if err != nil || abi < 1 {
		return "no Landlock in this kernel: file permissions alone keep files from it"
	}
	return fmt.Sprintf("no files (Landlock ABI %d)", abi)
}

// networkText starts a child to test whether namespaces are allowed, because no query covers all
// conditions.
func networkText() string {
	c, err := start(Limits{}, "", namespaces())
	if err != nil {
		return "no network namespace may be made: Landlock alone keeps it from TCP"
	}
	c.Kill()
	c.End()
	return "no network"
}

func userText() string {
	if os.Geteuid() == 0 {
		return "user nobody"
	}
	return "your user, without a way to more rights"
}
