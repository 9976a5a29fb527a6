// Command helper is what the lists of histories run. What it does is said by files in
// /ctl, so that a command can fail or kill fettle in one run and succeed in the next.
//
//	helper run NAME    note NAME in /ctl/log; if /ctl/NAME has "fail", fail; if "kill", kill fettle
//	helper make NAME   the same, and create /ctl/made.NAME
//	helper undo NAME   remove /ctl/made.NAME
//	helper has PATH    succeed if the path exists
package main

import (
	"os"
	"strings"
	"syscall"
	"time"
)

func main() {
	if os.Args[1] == "has" {
		if _, err := os.Lstat(os.Args[2]); err != nil {
			os.Exit(1)
		}
		return
	}
	name := os.Args[2]
	if os.Args[1] == "undo" {
		if os.Remove("/ctl/made."+name) != nil {
			os.Exit(4)
		}
		return
	}
	f, err := os.OpenFile("/ctl/log", os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		os.Exit(3)
	}
	if _, err := f.WriteString(name + "\n"); err != nil || f.Close() != nil {
		os.Exit(3)
	}
	if os.Args[1] == "make" {
		defer create("/ctl/made." + name)
	}
	how, _ := os.ReadFile("/ctl/" + name)
	switch strings.TrimSpace(string(how)) {
	case "fail":
		os.Exit(1)
	case "kill":
		if syscall.Kill(os.Getppid(), syscall.SIGKILL) == nil {
			time.Sleep(time.Minute) // fettle is gone; the next one ends this
		}
	}
}

func create(p string) {
	if f, err := os.Create(p); err != nil || f.Close() != nil {
		os.Exit(3)
	}
}
