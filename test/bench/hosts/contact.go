package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
)

// contactMain is the limit: LIST PARALLEL CONTROLPATH, where a line of the list is
// NAME ADDRESS and the last is empty to keep no connections.
func contactMain(args []string) error {
	list, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	parallel, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	options := []string{"-T", "-o", "BatchMode=yes", "-o", "LogLevel=ERROR"}
	if args[2] != "" {
		options = append(options, "-o", "ControlMaster=auto", "-o", "ControlPersist=60", "-o", "ControlPath="+args[2])
	}
	var all errgroup.Group
	all.SetLimit(parallel)
	for line := range strings.Lines(string(list)) {
		all.Go(func() error {
			name, address, _ := strings.Cut(strings.TrimSpace(line), " ")
			cmd := exec.Command("ssh", append(options, address, "sh -s")...)
			cmd.Stdin = strings.NewReader(script(name))
			cmd.Stderr = os.Stderr
			if err := cmd.Run(); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			return nil
		})
	}
	return all.Wait()
}

// script does the four operations on a host, each where it is needed.
func script(host string) string {
	text := content(host)
	return fmt.Sprintf(`set -e
[ "$(stat -c %%a %[1]s 2>/dev/null)" = 750 ] || install -d -m 750 %[1]s
cat >/tmp/new <<'END'
%[2]sEND
cmp -s /tmp/new %[3]s || install -m 640 /tmp/new %[3]s
grep -qxF '%[4]s' %[5]s || sed -i 's/^limit = .*/%[4]s/' %[5]s
[ -e %[6]s ] || touch %[6]s
`, folder, text, file, newLine, shared, ready)
}
