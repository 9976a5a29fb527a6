package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/supportbundle"
	"fettle.dev/fettle/internal/ui/cli"
)

// NewSupportBundle builds the command support, to collect data for support, without secrets.
func NewSupportBundle(s *cli.Session) *cobra.Command {
	file := ""
	c := &cobra.Command{
		Use:   "support-bundle",
		Short: "Collect data for support, without secrets",
		Long: `Writes a tar.gz that only you can read. It contains the version, the status, the
history, and the changes of the last runs. It also contains the kinds of journal
records, facts, disk space and the state of the package database.

It never contains contents of files, before-images, lines of accounts, commands
with their environment and output, or values of settings. Its README lists
all omitted data. Review the file before you pass it on.`,
		Example: "  sudo fettle support-bundle\n  sudo fettle support-bundle -o /tmp/case-17.tar.gz",
		Args:    cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			if file == "" {
				file = "fettle-support-" + s.App.Now().UTC().Format("20060102T150405Z") + ".tar.gz"
			}
			return supportBundle(c.Context(), s, file)
		},
	}
	cli.OutputFlag(c, &file, "write to this `FILE` (default: fettle-support-TIME.tar.gz here)")
	return c
}

func supportBundle(ctx context.Context, s *cli.Session, file string) error {
	if _, err := s.Connected(ctx, s.Target); err != nil {
		return err // not the bundle of another machine
	}
	b := supportbundle.New()
	b.Document("version.json", cli.DescribeVersion(s))
	err := cli.WithExecutor(ctx, s, func(x executor.Executor) error {
		b.AddEngine(ctx, x)
		return nil
	})
	b.Failed("open the state directory", err)
	addMachine(ctx, s, b)
	if err := saveBundle(b, file, s.App.Now()); err != nil {
		return err
	}
	return s.Done("support-bundle", 0, fmt.Sprintf("Wrote %s. Review it before you share it: tar -xOzf %s | less", file,
		file))
}

// addMachine adds the data of the host that the engine does not have.
func addMachine(ctx context.Context, s *cli.Session, b *supportbundle.Bundle) {
	m, err := s.Machine()
	b.Failed("find the host", err)
	if err != nil {
		return
	}
	var facts map[string]cty.Value
	if s.Remote != nil {
		facts = s.Remote.Facts()
	} else if facts, err = s.App.Facts(ctx, m); err != nil {
		b.Failed("gather facts", err)
	}
	if facts != nil {
		b.AddFacts(facts)
	}
	if s.Remote != nil {
		b.Miss("only fettle on the host itself collects the kinds of records, disk space and packages")
		return
	}
	if s.App.Support == nil {
		return
	}
	sup := s.App.Support(ctx, m)
	b.Document("journals.json", sup.Records)
	for _, name := range cli.SortedNames(sup.Outputs) {
		b.Add(name+".txt", sup.Outputs[name])
	}
	b.Miss(sup.Missing...)
}

// saveBundle writes the archive to a new file that only its owner can read.
func saveBundle(b *supportbundle.Bundle, file string, now time.Time) (err error) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return cli.Refuse("Name another: -o FILE", fmt.Sprintf("cannot write the bundle to %q: it already exists", file))
	}
	if err != nil {
		return fmt.Errorf("cannot write the bundle: %w", err)
	}
	err = b.Write(f, now)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		_ = os.Remove(file)
		return fmt.Errorf("cannot write the bundle: %w", err)
	}
	return nil
}
