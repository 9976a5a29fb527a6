// Command broken passes for fettle until it has to be an agent. What it does then follows
// from its version.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

var version string

func main() {
	switch strings.Join(os.Args[1:min(3, len(os.Args))], " ") {
	case "version --json":
		fmt.Printf("{\"format\":\"fettle.version/1\",\"version\":%q}\n", version)
	case "agent status":
		fmt.Println("{}")
	default:
		if strings.HasSuffix(version, "exits") {
			fmt.Fprintln(os.Stderr, "cannot be an agent: boom")
			os.Exit(1)
		}
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
		for {
			time.Sleep(time.Hour)
		}
	}
}
