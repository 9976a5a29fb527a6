// Command helper is what the machine of the tests can run: it needs nothing but
// itself.
//
//	helper load           a daemon that reads its configuration
//	helper make PATH      twice would be seen
//	helper drop PATH
//	helper has PATH
package main

import (
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1], os.Args[2:]...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(what string, args ...string) error {
	switch what {
	case "load":
		text, err := os.ReadFile("/etc/app.conf")
		if err != nil {
			return err
		}
		return os.WriteFile("/run/loaded", text, 0o644)
	case "make":
		f, err := os.OpenFile(args[0], os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.WriteString("made\n")
		return err
	case "drop":
		return os.Remove(args[0])
	case "has":
		_, err := os.Stat(args[0])
		return err
	}
	return fmt.Errorf("cannot %s", what)
}
