package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"fettle.dev/fettle/internal/executor/here"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/local"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/ui/cli"
)

// support reads the journals and the host for a support bundle. It changes nothing. Data that it
// cannot read is missing from the result.
func support(ctx context.Context, m cli.Machine) cli.Support {
	out := cli.Support{Records: map[int]map[string]int{}, Outputs: map[string]string{}}
	if _, err := os.Stat(filepath.Join(m.State, "journal")); err == nil {
		if err := countRecords(m, out.Records); err != nil {
			out.Missing = append(out.Missing, "cannot read all journals")
		}
	}
	h, err := here.Root(m.Root)
	if err != nil {
		out.Missing = append(out.Missing, "cannot open the root")
		return out
	}
	defer h.Close()
	// The paths are relative to the host's own root.
	state, err := filepath.Rel(m.Root, m.State)
	if err != nil || !filepath.IsLocal(state) {
		state = "."
	}
	paths := []string{"/", "/" + state}
	for name, argv := range map[string][]string{
		"disk":     append([]string{"df", "-P", "-k"}, paths...),
		"inodes":   append([]string{"df", "-P", "-i"}, paths...),
		"packages": {"dpkg", "--audit"},
		"failed":   {"systemctl", "list-units", "--failed", "--plain", "--no-legend", "--no-pager"},
	} {
		res, err := h.Run(ctx, host.Command{Argv: argv, Timeout: 20 * time.Second})
		if err != nil {
			out.Missing = append(out.Missing, "cannot run "+argv[0])
			continue
		}
		out.Outputs[name] = fmt.Sprintf("%s%s(exit code %d)\n", res.Stdout, res.Stderr, res.ExitCode)
	}
	return out
}

// countRecords counts the records of every run by kind.
func countRecords(m cli.Machine, counts map[int]map[string]int) error {
	fs, err := local.Open(m.State, local.Options{})
	if err != nil {
		return err
	}
	defer fs.Close()
	store, err := journal.Open(fs)
	if err != nil {
		return err
	}
	runs, err := store.Runs()
	if err != nil {
		return err
	}
	for _, r := range runs {
		records, err := store.Read(r.Header.Run)
		if err != nil {
			return err
		}
		n := map[string]int{}
		for _, rec := range records {
			n[string(rec.Kind)]++
		}
		counts[r.Header.Run] = n
	}
	return nil
}
